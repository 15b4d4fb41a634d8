//! `appliance completions`: generates shell completion scripts from the commands and flags that clap parses.
//!
//! This module does not use the usual library, `clap_complete`, which would add more bytes to the binary than the three
//! scripts contain.

use std::fmt::Write as _;

use clap::{Arg, Command, ValueEnum};

use super::failure::Failure;
use super::output::print_listing;

/// Print a script that completes commands and flags in your shell.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  appliance completions bash > ~/.local/share/bash-completion/completions/appliance
  appliance completions zsh > ~/.zfunc/_appliance      with ~/.zfunc in fpath
  appliance completions fish > ~/.config/fish/completions/appliance.fish")]
pub struct Args {
    /// The shell to complete for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the script. `root` is the command whose command line the script completes.
///
/// # Errors
/// Fails if standard output cannot be written to.
pub fn run(args: &Args, mut root: Command) -> Result<(), Failure> {
    root.build();
    let nodes = command_nodes("", &root);
    let script = match args.shell {
        Shell::Bash => bash(&nodes),
        Shell::Zsh => zsh(&nodes),
        Shell::Fish => fish(&nodes),
    };
    print_listing(script.trim_end())
}

/// One command in the tree.
struct CommandNode<'a> {
    /// The words that lead to the command, each preceded by a space. Empty for `appliance` itself.
    path: String,
    commands: Vec<(&'a str, String)>,
    flags: Vec<Flag>,
}

struct Flag {
    name: String,
    help: String,
    takes_value: bool,
    /// The possible values; empty if the flag accepts other values too.
    values: Vec<String>,
}

/// Returns a command and all commands below it, depth first.
fn command_nodes<'a>(path: &str, command: &'a Command) -> Vec<CommandNode<'a>> {
    let commands: Vec<&Command> = command.get_subcommands().collect();
    let mut all = vec![CommandNode {
        path: path.to_owned(),
        commands: commands.iter().map(|command| (command.get_name(), about(command))).collect(),
        flags: command.get_arguments().filter_map(flag).collect(),
    }];
    for command in commands {
        let path = format!("{path} {}", command.get_name());
        // `help` repeats the whole tree; its first level is enough.
        let is_help = command.get_name() == "help";
        all.extend(command_nodes(&path, command).into_iter().take(if is_help { 1 } else { usize::MAX }));
    }
    all
}

fn flag(arg: &Arg) -> Option<Flag> {
    let name = format!("--{}", arg.get_long()?);
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let takes_value = arg.get_action().takes_values();
    let values = arg.get_possible_values().into_iter().filter(|_| takes_value);
    let values = values.map(|value| value.get_name().to_owned()).collect();
    Some(Flag { name, help: first_sentence(&help), takes_value, values })
}

fn about(command: &Command) -> String {
    command.get_about().map(|about| first_sentence(&about.to_string())).unwrap_or_default()
}

fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Returns the paths of all commands below `appliance` as a pattern for the shell's `case`.
fn path_pattern(nodes: &[CommandNode<'_>]) -> String {
    let paths = nodes.iter().filter(|node| !node.path.is_empty()).map(|node| format!("\"{}\"", node.path));
    paths.collect::<Vec<_>>().join(" | ")
}

/// Returns each flag that takes a value, with the words before that value on the command line.
fn flags_with_value<'a>(nodes: &'a [CommandNode<'_>]) -> impl Iterator<Item = (String, &'a Flag)> {
    let flags = nodes.iter().flat_map(|node| node.flags.iter().map(move |flag| (node, flag)));
    let flags = flags.filter(|(_, flag)| flag.takes_value);
    flags.map(|(node, flag)| (format!("{} {}", node.path, flag.name), flag))
}

fn bash(nodes: &[CommandNode<'_>]) -> String {
    let mut script = format!(
        "_appliance() {{
    local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\" at=\"\" word
    COMPREPLY=()
    for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do
        case \"$at $word\" in {}) at=\"$at $word\" ;; esac
    done
    case \"$at $prev\" in\n",
        path_pattern(nodes)
    );
    let (closed, open): (Vec<_>, Vec<_>) = flags_with_value(nodes).partition(|(_, flag)| !flag.values.is_empty());
    for (before, flag) in closed {
        let values = flag.values.join(" ");
        let _ = writeln!(script, "        \"{before}\") COMPREPLY=($(compgen -W \"{values}\" -- \"$cur\")); return ;;");
    }
    let open: Vec<String> = open.into_iter().map(|(before, _)| format!("\"{before}\"")).collect();
    let _ = writeln!(script, "        {}) return ;;", open.join(" | "));
    script.push_str("    esac\n    case \"$at\" in\n");
    for node in nodes {
        let flags: Vec<&str> = node.flags.iter().map(|flag| flag.name.as_str()).collect();
        let commands: Vec<&str> = node.commands.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(
            script,
            "        \"{}\") case \"$cur\" in
            -*) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")) ;;
            *) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")) ;;
        esac ;;",
            node.path,
            flags.join(" "),
            commands.join(" ")
        );
    }
    // If the script offers nothing, the shell completes file names.
    script.push_str("    esac\n}\ncomplete -o bashdefault -o default -F _appliance appliance\n");
    script
}

fn zsh(nodes: &[CommandNode<'_>]) -> String {
    let described = |items: &mut dyn Iterator<Item = (&str, &str)>| {
        let quoted = |text: &str| text.replace('\'', "'\\''");
        let item = |(name, help): (&str, &str)| format!("'{}:{}'", name.replace(':', "\\:"), quoted(help));
        items.map(item).collect::<Vec<_>>().join(" ")
    };
    let mut script = format!(
        "#compdef appliance
_appliance() {{
    local at=\"\" word
    local -a commands flags
    for word in \"${{(@)words[2,CURRENT-1]}}\"; do
        case \"$at $word\" in ({}) at=\"$at $word\" ;; esac
    done
    case \"$at ${{words[CURRENT-1]}}\" in\n",
        path_pattern(nodes)
    );
    for (before, flag) in flags_with_value(nodes) {
        let values = flag.values.join(" ");
        let action = if values.is_empty() { "_files".to_owned() } else { format!("compadd -- {values}") };
        let _ = writeln!(script, "        (\"{before}\") {action}; return ;;");
    }
    script.push_str("    esac\n    case \"$at\" in\n");
    for node in nodes {
        let commands = described(&mut node.commands.iter().map(|(name, help)| (*name, help.as_str())));
        let flags = described(&mut node.flags.iter().map(|flag| (flag.name.as_str(), flag.help.as_str())));
        let _ = writeln!(script, "        (\"{}\") commands=({commands}); flags=({flags}) ;;", node.path);
    }
    script.push_str(
        "    esac
    if [[ \"${words[CURRENT]}\" == -* ]]; then
        _describe -o flag flags
    elif (( $#commands )); then
        _describe command commands
    else
        _files
    fi
}
if [[ \"$funcstack[1]\" == _appliance ]]; then _appliance \"$@\"; else compdef _appliance appliance; fi\n",
    );
    script
}

fn fish(nodes: &[CommandNode<'_>]) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let paths: Vec<String> = nodes.iter().map(|node| quoted(&node.path)).collect();
    let mut script = format!(
        "function __appliance_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        contains -- \"$at $word\" {}; and set at \"$at $word\"
    end
    test \"$at\" = \"$argv[1]\"
end\n",
        paths.join(" ")
    );
    for node in nodes {
        let at = format!("complete -c appliance -n \"__appliance_at '{}'\"", node.path);
        for (name, help) in &node.commands {
            let _ = writeln!(script, "{at} -f -a {name} -d {}", quoted(help));
        }
        for flag in &node.flags {
            let value = match (flag.takes_value, flag.values.is_empty()) {
                (false, _) => String::new(),
                (true, true) => " -r".to_owned(),
                (true, false) => format!(" -x -a {}", quoted(&flag.values.join(" "))),
            };
            let name = flag.name.trim_start_matches('-');
            let _ = writeln!(script, "{at} -l {name}{value} -d {}", quoted(&flag.help));
        }
    }
    script
}
