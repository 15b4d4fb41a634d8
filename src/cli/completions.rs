//! `appliance completions`: what a shell completes, from the same commands and flags that the program reads.
//!
//! By hand: what the program would have to have built in for it otherwise weighs more than the scripts of all three.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory, ValueEnum};

use super::{Cli, Failure, print};

/// Print a script that completes commands and flags in your shell.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  appliance completions bash > ~/.local/share/bash-completion/completions/appliance
  appliance completions zsh > ~/.zfunc/_appliance      with ~/.zfunc in fpath
  appliance completions fish > ~/.config/fish/completions/appliance.fish")]
pub struct Args {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Runs the command.
///
/// # Errors
/// Where standard output cannot be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut root = Cli::command();
    root.build();
    let places = places("", &root);
    let script = match args.shell {
        Shell::Bash => bash(&places),
        Shell::Zsh => zsh(&places),
        Shell::Fish => fish(&places),
    };
    print(script.trim_end())
}

/// A command, by the words that lead to it, each with a space before it.
struct Place<'a> {
    words: String,
    commands: Vec<(&'a str, String)>,
    flags: Vec<Flag>,
}

struct Flag {
    name: String,
    help: String,
    takes_value: bool,
    /// What the value can be, where that is a closed set.
    values: Vec<String>,
}

fn places<'a>(words: &str, command: &'a Command) -> Vec<Place<'a>> {
    let commands: Vec<&Command> = command.get_subcommands().collect();
    let mut all = vec![Place {
        words: words.to_owned(),
        commands: commands.iter().map(|command| (command.get_name(), about(command))).collect(),
        flags: command.get_arguments().filter_map(flag).collect(),
    }];
    for command in commands {
        let words = format!("{words} {}", command.get_name());
        // What `help` takes is the commands once more; one level of them is enough.
        let is_help = command.get_name() == "help";
        all.extend(places(&words, command).into_iter().take(if is_help { 1 } else { usize::MAX }));
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

/// Every way of words that is a command, as a pattern of `case`.
fn ways(places: &[Place<'_>]) -> String {
    let ways = places.iter().filter(|place| !place.words.is_empty()).map(|place| format!("\"{}\"", place.words));
    ways.collect::<Vec<_>>().join(" | ")
}

/// Every flag that takes a value, with the way to it and itself as the shell has them before the value.
fn valued<'a>(places: &'a [Place<'_>]) -> impl Iterator<Item = (String, &'a Flag)> {
    let each = places.iter().flat_map(|place| place.flags.iter().map(move |flag| (place, flag)));
    let each = each.filter(|(_, flag)| flag.takes_value);
    each.map(|(place, flag)| (format!("{} {}", place.words, flag.name), flag))
}

fn bash(places: &[Place<'_>]) -> String {
    let mut script = format!(
        "_appliance() {{
    local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\" at=\"\" word
    COMPREPLY=()
    for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do
        case \"$at $word\" in {}) at=\"$at $word\" ;; esac
    done
    case \"$at $prev\" in\n",
        ways(places)
    );
    let (told, free): (Vec<_>, Vec<_>) = valued(places).partition(|(_, flag)| !flag.values.is_empty());
    for (way, flag) in told {
        let values = flag.values.join(" ");
        let _ = writeln!(script, "        \"{way}\") COMPREPLY=($(compgen -W \"{values}\" -- \"$cur\")); return ;;");
    }
    let free: Vec<String> = free.into_iter().map(|(way, _)| format!("\"{way}\"")).collect();
    let _ = writeln!(script, "        {}) return ;;", free.join(" | "));
    script.push_str("    esac\n    case \"$at\" in\n");
    for place in places {
        let flags: Vec<&str> = place.flags.iter().map(|flag| flag.name.as_str()).collect();
        let commands: Vec<&str> = place.commands.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(
            script,
            "        \"{}\") case \"$cur\" in
            -*) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")) ;;
            *) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")) ;;
        esac ;;",
            place.words,
            flags.join(" "),
            commands.join(" ")
        );
    }
    // Where nothing is known, the shell completes the names of files.
    script.push_str("    esac\n}\ncomplete -o bashdefault -o default -F _appliance appliance\n");
    script
}

fn zsh(places: &[Place<'_>]) -> String {
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
        ways(places)
    );
    for (way, flag) in valued(places) {
        let values = flag.values.join(" ");
        let act = if values.is_empty() { "_files".to_owned() } else { format!("compadd -- {values}") };
        let _ = writeln!(script, "        (\"{way}\") {act}; return ;;");
    }
    script.push_str("    esac\n    case \"$at\" in\n");
    for place in places {
        let commands = described(&mut place.commands.iter().map(|(name, help)| (*name, help.as_str())));
        let flags = described(&mut place.flags.iter().map(|flag| (flag.name.as_str(), flag.help.as_str())));
        let _ = writeln!(script, "        (\"{}\") commands=({commands}); flags=({flags}) ;;", place.words);
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

fn fish(places: &[Place<'_>]) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let ways: Vec<String> = places.iter().map(|place| quoted(&place.words)).collect();
    let mut script = format!(
        "function __appliance_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        contains -- \"$at $word\" {}; and set at \"$at $word\"
    end
    test \"$at\" = \"$argv[1]\"
end\n",
        ways.join(" ")
    );
    for place in places {
        let at = format!("complete -c appliance -n \"__appliance_at '{}'\"", place.words);
        for (name, help) in &place.commands {
            let _ = writeln!(script, "{at} -f -a {name} -d {}", quoted(help));
        }
        for flag in &place.flags {
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
