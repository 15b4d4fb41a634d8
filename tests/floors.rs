//! The architecture rules of the source: which module may import which, and which code belongs in which file. The tests
//! read `src/**`.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue must fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

/// The top-level modules and their layers. The other files directly in `src` are the crate roots.
const LAYERS: [(&str, usize); 9] = [
    ("domain", 0),
    ("world", 0),
    ("telemetry", 0),
    ("db", 1),
    ("store", 2),
    ("interchange", 3),
    ("hr", 3),
    ("http", 3),
    ("cli", 4),
];

/// Above the lowest layer, the only import that is allowed between two modules on one layer.
const SIDEWAYS: (&str, &str) = ("http", "interchange");

/// The maximum number of lines in a file. A longer file becomes a folder of the same name.
const LINES_MAX: usize = 400;

/// A source file, with its code and its string literals separated.
struct Source {
    /// The path below `src`.
    path: String,
    text: String,
    /// The text with comments, character literals and the contents of strings blanked.
    code: String,
    /// The code with items of `#[cfg(test)]` blanked too.
    shipped: String,
    /// Each string literal with its position.
    strings: Vec<(usize, String)>,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        let (code, strings) = separate_strings(text);
        // The `#[cfg(test)]` on a test module's declaration applies to the module's whole file or folder.
        let is_tests = path.ends_with("/tests.rs") || path.contains("/tests/");
        let shipped = if is_tests { String::new() } else { without_tests(&code) };
        Self { path: path.to_owned(), text: text.to_owned(), code, shipped, strings }
    }

    /// Returns the top-level module of the file.
    fn top(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    fn is_under(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    fn finding(&self, position: usize, what: &str) -> String {
        format!("src/{}:{}: {what}", self.path, self.text[..position].matches('\n').count() + 1)
    }

    /// Reports each occurrence of these words in the code.
    fn with_words(&self, code: &str, words: &[&str], why: &str) -> Vec<String> {
        let found = identifiers(code).into_iter().filter(|(_, word)| words.contains(word));
        found.map(|(position, word)| self.finding(position, &format!("`{word}`: {why}"))).collect()
    }

    /// Reports each occurrence of these snippets in the code, even across line breaks.
    fn with_snippets(&self, code: &str, snippets: &[&str], why: &str) -> Vec<String> {
        let (tight, positions): (String, Vec<usize>) =
            code.char_indices().filter(|(_, c)| !c.is_whitespace()).map(|(position, c)| (c, position)).unzip();
        let mut findings = Vec::new();
        for snippet in snippets {
            // Blanked code is ASCII, so byte positions are character positions.
            let found = tight.match_indices(snippet).filter(|(at, _)| stands_alone(&tight, *at, snippet));
            findings.extend(found.map(|(at, _)| self.finding(positions[at], &format!("`{snippet}`: {why}"))));
        }
        findings
    }
}

/// Returns whether a snippet is not part of a longer word.
fn stands_alone(text: &str, at: usize, snippet: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let joins =
        |inside: Option<char>, outside: Option<char>| inside.is_some_and(is_word) && outside.is_some_and(is_word);
    let before = text[..at].chars().next_back();
    let after = text[at + snippet.len()..].chars().next();
    !joins(snippet.chars().next(), before) && !joins(snippet.chars().next_back(), after)
}

/// Replaces comments, character literals and the contents of strings with blanks, so that all positions stay the same.
/// Returns the code and the strings.
fn separate_strings(text: &str) -> (String, Vec<(usize, String)>) {
    let mut code = text.to_owned().into_bytes();
    let mut strings = Vec::new();
    let mut blank = |from: usize, to: usize| {
        code[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let raw_hashes = rest.strip_prefix('r').map(|r| r.len() - r.trim_start_matches('#').len());
        let raw_hashes = raw_hashes.filter(|hashes| rest[1 + hashes..].starts_with('"') && begins_token(text, at));
        if rest.starts_with("//") {
            let end = at + rest.find('\n').unwrap_or(rest.len());
            blank(at, end);
            at = end;
        } else if rest.starts_with("/*") {
            let end = at + block_comment(rest);
            blank(at, end);
            at = end;
        } else if let Some(hashes) = raw_hashes {
            let (begin, close) = (at + hashes + 2, format!("\"{}", "#".repeat(hashes)));
            let end = begin + text[begin..].find(&close).unwrap_or(text.len() - begin);
            strings.push((begin, text[begin..end].to_owned()));
            at = (end + close.len()).min(text.len());
            blank(begin, end);
        } else if let Some(inside) = rest.strip_prefix('"') {
            let end = at + 1 + quoted(inside, '"');
            strings.push((at + 1, text[at + 1..end].to_owned()));
            blank(at + 1, end);
            at = end + 1;
        } else if let Some(length) = character(rest) {
            blank(at, at + length);
            at += length;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    let code = String::from_utf8_lossy(&code).replace(|c: char| !c.is_ascii(), " ");
    (code, strings)
}

/// Returns whether a token begins here. The `b` of a byte string can precede it.
fn begins_token(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches('b');
    !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Returns the length of a block comment, including nested comments.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Returns the distance to the closing quote.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a character literal, or `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    let length = if first == '\\' { 2 + quoted(&inside[2..], '\'') } else { first.len_utf8() };
    inside[length..].starts_with('\'').then_some(length + 2)
}

/// Replaces the items after `#[cfg(test)]` with blanks.
fn without_tests(code: &str) -> String {
    let mut shipped = code.to_owned();
    while let Some(begin) = shipped.find("#[cfg(test)]") {
        let mut depth = 0_usize;
        let end = shipped[begin..].char_indices().find(|(_, c)| {
            depth = depth + usize::from(*c == '{') - usize::from(*c == '}');
            depth == 0 && matches!(c, '}' | ';')
        });
        let end = begin + end.map_or(shipped.len() - begin, |(at, _)| at + 1);
        let blank: String = shipped[begin..end].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
        shipped.replace_range(begin..end, &blank);
    }
    shipped
}

/// Returns the words in the code, each with its position.
fn identifiers(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        if !word.is_empty() {
            found.push((at, word));
        }
        at += word.len() + 1;
    }
    found
}

/// Returns the top-level modules that the code names, as `crate::…`, `crate::{…}` or with `super`.
fn imports(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in identifiers(&source.code).into_iter().filter(|(_, word)| *word == "crate") {
        let Some(path) = source.code[at + "crate".len()..].trim_start().strip_prefix("::") else { continue };
        found.extend(first_names(path).into_iter().map(|name| (at, name)));
    }
    // A path with this many `super` segments leads from the file's module to the crate root.
    let parts: Vec<&str> = source.path.split('/').collect();
    let depth = parts.len() - usize::from(parts.last() == Some(&"mod.rs"));
    let climb = format!("{}::", vec!["super"; depth].join("::"));
    let shipped = &source.shipped;
    for (at, _) in shipped.match_indices(&climb).filter(|(at, _)| stands_alone(shipped, *at, &climb)) {
        found.extend(first_names(&shipped[at + climb.len()..]).into_iter().map(|name| (at, name)));
    }
    found.retain(|(_, name)| LAYERS.iter().any(|(known, _)| known == name));
    found
}

/// Returns the first name of a path, or of each path in braces.
fn first_names(path: &str) -> Vec<String> {
    let path = path.trim_start();
    let word = |path: &str| -> String {
        path.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut depth, mut names, mut begin) = (0_usize, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(word(&group[begin..at]));
                begin = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().find(|(known, _)| *known == module).map(|(_, layer)| *layer)
}

fn states_its_purpose(source: &Source) -> Vec<String> {
    let begins = source.text.strip_prefix("//! ").is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()));
    if begins {
        Vec::new()
    } else {
        vec![source.finding(0, "the file does not begin with a `//!` that states its purpose")]
    }
}

fn imports_go_down(source: &Source) -> Vec<String> {
    let Some(own) = layer(source.top()) else { return Vec::new() };
    let is_wrong = |name: &str| {
        let other = layer(name).unwrap_or_default();
        let within = name == source.top() || (own == 0 && other == 0);
        !within && other >= own && (source.top(), name) != SIDEWAYS
    };
    let wrong = imports(source).into_iter().filter(|(_, name)| is_wrong(name));
    wrong.map(|(at, name)| source.finding(at, &format!("{} must not import `{name}`", source.top()))).collect()
}

/// Returns the path of a file's module, as the names of its segments from the crate root.
fn module(source: &Source) -> Vec<String> {
    let path = source.path.strip_suffix(".rs").unwrap_or(&source.path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if ["main", "lib"].contains(&path) { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// Adds every path of a `use` tree, or the single path of an expression. `before` is the path that precedes `text`.
fn add_paths(text: &str, before: &[String], paths: &mut Vec<Vec<String>>) {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        let (mut depth, mut begin) = (0_usize, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    add_paths(&group[begin..at], before, paths);
                    begin = at + 1;
                    if c == '}' {
                        return;
                    }
                }
                _ => {}
            }
        }
        return;
    }
    let word: String = text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let mut path = before.to_vec();
    match word.as_str() {
        "super" => drop(path.pop()),
        "self" => {}
        _ => path.push(word.clone()),
    }
    match text[word.len()..].trim_start().strip_prefix("::") {
        Some(rest) => add_paths(rest, &path, paths),
        None => paths.push(path),
    }
}

/// Returns whether the word at this position begins a path.
fn begins_path(code: &str, at: usize, word: &str) -> bool {
    let before = code[..at].trim_end();
    let is_visibility = before.ends_with("(in");
    code[at + word.len()..].trim_start().starts_with("::") && !before.ends_with("::") && !is_visibility
}

/// Returns the modules that a file imports, with `use` or by a path.
fn module_imports(source: &Source, modules: &BTreeSet<Vec<String>>) -> BTreeSet<Vec<String>> {
    let (own, code) = (module(source), source.shipped.as_str());
    let mut paths = Vec::new();
    for (at, word) in identifiers(code) {
        let child = || [own.as_slice(), &[word.to_owned()]].concat();
        let before = match word {
            "crate" => Vec::new(),
            "self" => own.clone(),
            "super" => own[..own.len().saturating_sub(1)].to_vec(),
            _ if modules.contains(&child()) => child(),
            _ => continue,
        };
        if begins_path(code, at, word) {
            let rest = code[at + word.len()..].trim_start();
            add_paths(&rest["::".len()..], &before, &mut paths);
        }
    }
    // The module of a path is its longest prefix that is a module.
    let file =
        |path: Vec<String>| (1..=path.len()).rev().map(|end| path[..end].to_vec()).find(|path| modules.contains(path));
    paths.into_iter().filter_map(file).filter(|path| *path != own).collect()
}

/// Returns the import cycles. Each is a set of modules that import one another, directly or through others.
fn module_cycles(sources: &[Source]) -> Vec<BTreeSet<String>> {
    let modules: BTreeSet<Vec<String>> = sources.iter().map(module).filter(|path| !path.is_empty()).collect();
    let imports: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> =
        sources.iter().map(|source| (module(source), module_imports(source, &modules))).collect();
    let reached = |start: &Vec<String>| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(module) = next.pop() {
            for other in imports.get(&module).into_iter().flatten() {
                if reached.insert(other.clone()) {
                    next.push(other.clone());
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> =
        modules.iter().map(|module| (module, reached(module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, others) in &reached {
        if others.contains(*module) {
            let cycle = others.iter().filter(|other| reached[*other].contains(*module));
            cycles.insert(cycle.map(|path| path.join("/")).collect::<BTreeSet<String>>());
        }
    }
    cycles.into_iter().collect()
}

/// Reports the top-level modules that import themselves through others.
fn cycles(sources: &[Source]) -> Vec<String> {
    let mut known = BTreeMap::<&str, BTreeSet<String>>::new();
    for source in sources.iter().filter(|source| layer(source.top()).is_some()) {
        let others = imports(source).into_iter().map(|(_, name)| name).filter(|name| name != source.top());
        known.entry(source.top()).or_default().extend(others);
    }
    let mut findings = Vec::new();
    for start in known.keys() {
        let (mut reached, mut next) = (BTreeSet::new(), vec![*start]);
        while let Some(module) = next.pop() {
            for other in known.get(module).into_iter().flatten().filter(|other| reached.insert((*other).clone())) {
                next.push(other);
            }
        }
        if reached.contains(*start) {
            findings.push(format!("`{start}` imports itself through one of {:?}", known[start]));
        }
    }
    findings
}

fn the_lowest_layer_imports_no_framework(source: &Source) -> Vec<String> {
    if layer(source.top()) != Some(0) {
        return Vec::new();
    }
    let crates = ["hyper", "serde", "serde_json", "rusqlite", "r2d2", "r2d2_sqlite", "tokio", "matchit", "clap"];
    source.with_words(&source.code, &crates, "rules are plain functions")
}

fn sql_stays_in_the_store(source: &Source) -> Vec<String> {
    if source.is_under("store") || source.is_under("db") {
        return Vec::new();
    }
    let sql = source.strings.iter().filter(|(_, text)| is_sql(text));
    sql.map(|(at, text)| source.finding(*at, &format!("SQL outside the store: {text:?}"))).collect()
}

fn the_driver_stays_in_its_engine(source: &Source) -> Vec<String> {
    if source.is_under("db/sqlite") {
        return Vec::new();
    }
    source.with_words(&source.code, &["rusqlite", "r2d2", "r2d2_sqlite"], "only db/sqlite uses the SQLite driver")
}

fn the_postgresql_driver_stays_in_its_engine(source: &Source) -> Vec<String> {
    if source.is_under("db/postgres") {
        return Vec::new();
    }
    source.with_words(&source.code, &["tokio_postgres"], "only db/postgres uses the PostgreSQL driver")
}

fn is_sql(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let both = |first: &str, second: &str| {
        let after = words.iter().position(|word| *word == first).map(|at| &words[at + 1..]);
        after.is_some_and(|rest| rest.contains(&second))
    };
    let pair = |first: &str, second: &str| words.windows(2).any(|two| two == [first, second]);
    both("SELECT", "FROM") || both("UPDATE", "SET") || pair("INSERT", "INTO") || pair("DELETE", "FROM")
}

fn statuses_stay_in_the_reply(source: &Source) -> Vec<String> {
    if source.path == "http/server/reply/mod.rs" {
        return Vec::new();
    }
    source.with_words(&source.code, &["StatusCode"], "the status of an answer is decided in http/server/reply/mod.rs")
}

fn clock_and_randomness_stay_in_the_world(source: &Source) -> Vec<String> {
    if source.path == "world/mod.rs" {
        return Vec::new();
    }
    let why = "time and randomness are passed in from world";
    let mut findings = source.with_words(&source.code, &["SystemTime", "UNIX_EPOCH", "getrandom", "rand"], why);
    findings.extend(source.with_snippets(&source.code, &["Timestamp::now", "Zoned::now", "RandomState::new"], why));
    findings
}

fn async_stays_at_the_edge(source: &Source) -> Vec<String> {
    // `connect.rs` asks several hosts for a connection to PostgreSQL at the same time.
    let is_edge = ["cli/serve/mod.rs", "db/postgres/connect.rs"].contains(&source.path.as_str());
    if is_edge || source.is_under("http/server") || source.is_under("hr") {
        return Vec::new();
    }
    source.with_words(&source.code, &["async", "await"], "async stays at the edge")
}

fn transactions_are_opened_by_the_gate(source: &Source) -> Vec<String> {
    let is_handler = source.is_under("http") && !source.is_under("http/server");
    if !is_handler && !source.is_under("domain") && !source.is_under("interchange") {
        return Vec::new();
    }
    let mut opening = vec!["act_alone", "read_alone", "store.write", "store.record", ".savepoint("];
    // These handlers read a user or a password hash before the transaction, because hashing takes longer than a
    // transaction may take.
    let hashes_passwords =
        ["http/api/session.rs", "http/pages/console/"].iter().any(|path| source.path.starts_with(path));
    if !hashes_passwords {
        opening.push("store.read");
    }
    source.with_snippets(&source.shipped, &opening, "a transaction is passed in, not opened here")
}

fn nothing_is_unsafe(source: &Source) -> Vec<String> {
    source.with_words(&source.code, &["unsafe"], "the service needs no unsafe code")
}

fn no_unwrap_outside_tests(source: &Source) -> Vec<String> {
    let why = "say with `expect` why the call cannot fail";
    source.with_snippets(&source.shipped, &[".unwrap()", ".unwrap_unchecked()"], why)
}

/// Reports SQL whose parameters do not appear in order. SQLite numbers parameters by first appearance and ignores the
/// numbers in their names.
fn parameters_are_numbered_as_they_appear(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    for (at, text) in
        source.strings.iter().filter(|(_, text)| source.is_under("store") || source.is_under("db") || is_sql(text))
    {
        let mut appeared = Vec::new();
        for after in text.split('$').skip(1) {
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(number) = digits.parse::<usize>()
                && !appeared.contains(&number)
            {
                appeared.push(number);
            }
        }
        if !appeared.iter().copied().eq(1..=appeared.len()) {
            findings.push(source.finding(*at, &format!("the parameters appear in the order {appeared:?}")));
        }
    }
    findings
}

/// Reports calls such as `.get(0)`. Code that reads a column by number breaks when the query lists another column
/// before it.
fn columns_have_no_numbers(source: &Source) -> Vec<String> {
    if !source.is_under("store") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (at, _) in source.code.match_indices(".get") {
        let rest = &source.code[at + ".get".len()..];
        let argument = match rest.strip_prefix("::<") {
            Some(generic) => generic.split_once(">(").map_or("", |(_, argument)| argument),
            None => rest.strip_prefix('(').unwrap_or_default(),
        };
        let digits = argument.trim_start_matches(|c: char| c.is_ascii_digit());
        if digits.len() < argument.len() && digits.starts_with(')') {
            findings.push(source.finding(at, "read the columns in their order with `Columns`, or by name"));
        }
    }
    findings
}

fn a_file_is_short_enough(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    if lines <= LINES_MAX {
        return Vec::new();
    }
    vec![format!("src/{} has {lines} lines, more than {LINES_MAX}: make it a folder of the same name", source.path)]
}

/// Every Rust file in `src`. All tests share the files, because reading them takes longer than any rule.
static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(sources);

fn sources() -> Vec<Source> {
    fn read(folder: &Path, below: &str, sources: &mut Vec<Source>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{below}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                read(&path, &format!("{name}/"), sources);
            } else if name.ends_with(".rs") {
                sources.push(Source::new(&name, &std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut sources = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut sources);
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(sources.len() > 50, "the source folder has only {} files", sources.len());
    sources
}

/// Defines a test for each rule.
macro_rules! rules {
    ($($test:ident: $rule:ident,)*) => {$(
        #[test]
        fn $test() {
            let findings: Vec<String> = SOURCES.iter().flat_map($rule).collect();
            assert!(findings.is_empty(), "\n{}", findings.join("\n"));
        }
    )*};
}

rules! {
    every_file_states_its_purpose: states_its_purpose,
    every_import_goes_down: imports_go_down,
    no_framework_is_imported_in_the_lowest_layer: the_lowest_layer_imports_no_framework,
    there_is_no_sql_outside_the_store: sql_stays_in_the_store,
    the_sqlite_driver_is_named_only_in_its_engine: the_driver_stays_in_its_engine,
    the_postgresql_driver_is_named_only_in_its_engine: the_postgresql_driver_stays_in_its_engine,
    there_is_no_status_outside_the_reply: statuses_stay_in_the_reply,
    there_is_no_clock_and_no_randomness_outside_the_world: clock_and_randomness_stay_in_the_world,
    there_is_no_async_outside_the_edge: async_stays_at_the_edge,
    no_transaction_is_opened_in_a_rule_or_a_handler: transactions_are_opened_by_the_gate,
    there_is_no_unsafe_code: nothing_is_unsafe,
    there_is_no_unwrap_outside_tests: no_unwrap_outside_tests,
    sql_parameters_are_in_order: parameters_are_numbered_as_they_appear,
    no_column_is_read_by_number: columns_have_no_numbers,
    no_file_is_too_long: a_file_is_short_enough,
}

#[test]
fn no_top_level_module_imports_itself_through_others() {
    assert_eq!(cycles(&SOURCES), Vec::<String>::new());
}

#[test]
fn there_is_no_import_cycle_between_modules() {
    assert_eq!(module_cycles(&SOURCES), Vec::<BTreeSet<String>>::new());
}

#[test]
fn a_planted_import_cycle_is_found() {
    type Planted = (&'static [(&'static str, &'static str)], &'static [&'static str]);
    let cases: [Planted; 7] = [
        (
            &[("http/server/a.rs", "use super::b::B;"), ("http/server/b.rs", "fn b() { crate::http::server::a::f() }")],
            &["http/server/a", "http/server/b"],
        ),
        (&[("store/mod.rs", "use a::A;"), ("store/a.rs", "use super::{Store, b};")], &["store", "store/a"]),
        (
            &[
                ("store/a.rs", "use crate::store::{self, b::{self, B}};"),
                ("store/b.rs", "use super::c as d;"),
                ("store/c.rs", "fn c() -> super::a::A {}"),
            ],
            &["store/a", "store/b", "store/c"],
        ),
        (
            &[("db/a.rs", "use crate::{domain, store::b};"), ("store/b.rs", "use crate::db::a::T;")],
            &["db/a", "store/b"],
        ),
        (&[("db/a/mod.rs", "mod b; fn f() { b::f() }"), ("db/a/b.rs", "use super::super::a::X;")], &["db/a", "db/a/b"]),
        (&[("db/a.rs", "use super::b::B;"), ("db/b.rs", "#[cfg(test)]\nmod tests { use super::super::a; }")], &[]),
        (&[("db/mod.rs", "pub mod a; pub mod b;"), ("db/a.rs", "use super::b::B;"), ("db/b.rs", "// super::a")], &[]),
    ];
    for (files, expected) in cases {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        let cycle: Vec<String> = module_cycles(&sources).into_iter().flatten().collect();
        assert_eq!(cycle, expected, "{files:?}");
    }
}

/// Checks that `LAYERS` lists all top-level modules.
#[test]
fn every_module_has_a_layer() {
    for source in SOURCES.iter() {
        let is_root = ["main.rs", "lib.rs"].contains(&source.path.as_str());
        assert!(is_root || layer(source.top()).is_some(), "src/{} has no layer", source.path);
    }
}

/// Returns the top-level module that contains a module or, in `http`, the folder directly below it.
fn folder_of(module: &[String]) -> String {
    let parts = if module[0] == "http" { module.len().min(2) } else { 1 };
    module[..parts].join("/")
}

/// Checks that `docs/architecture.md` lists the imports that the source has.
#[test]
fn the_architecture_lists_the_imports_between_folders() {
    let sources = &*SOURCES;
    let modules: BTreeSet<Vec<String>> = sources.iter().map(module).filter(|path| !path.is_empty()).collect();
    let mut imports: BTreeMap<String, BTreeSet<String>> =
        modules.iter().map(|module| (folder_of(module), BTreeSet::new())).collect();
    for source in sources.iter().filter(|source| !module(source).is_empty()) {
        let own = folder_of(&module(source));
        let others = module_imports(source, &modules);
        let others = others.iter().map(|other| folder_of(other)).filter(|other| *other != own);
        imports.entry(own.clone()).or_default().extend(others);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let text = std::fs::read_to_string(path).unwrap();
    let listed: BTreeMap<String, BTreeSet<String>> = text
        .lines()
        .filter_map(|line| line.split_once(" imports "))
        .filter(|(name, _)| imports.contains_key(*name))
        .map(|(name, others)| {
            let others = others.split(' ').filter(|other| *other != "nothing").map(str::to_owned);
            (name.to_owned(), others.collect())
        })
        .collect();
    assert_eq!(listed, imports);
}

type Rule = fn(&Source) -> Vec<String>;

#[test]
fn each_rule_finds_a_violation_at_its_position() {
    let long = "//! Long.\n".repeat(LINES_MAX + 1);
    let cases: [(Rule, &str, &str, &str); 38] = [
        (states_its_purpose, "a.rs", "use std::fmt;\n//! Late.", "a.rs:1"),
        (states_its_purpose, "a.rs", "//!\n//! Blank.", "a.rs:1"),
        (imports_go_down, "domain/a.rs", "//! A.\nuse crate::store::Tx;", "a.rs:2: domain must not import `store`"),
        (imports_go_down, "store/a.rs", "\n\nfn a() { crate::http::b() }", "a.rs:3: store must not import `http`"),
        (imports_go_down, "store/a.rs", "use crate::{domain, interchange::{x, y}};", "must not import `interchange`"),
        (imports_go_down, "interchange/a.rs", "use crate::http::route::Route;", "interchange must not import `http`"),
        (imports_go_down, "http/a.rs", "use crate::{interchange, hr};", "http must not import `hr`"),
        (imports_go_down, "telemetry.rs", "use crate :: cli;", "telemetry must not import `cli`"),
        (imports_go_down, "store/a/b.rs", "use super::super::super::cli::x;", "store must not import `cli`"),
        (imports_go_down, "domain/a.rs", "/* crate::x */ use super::super::http;", "domain must not import `http`"),
        (the_lowest_layer_imports_no_framework, "domain/a.rs", "use serde::Serialize;", "`serde`"),
        (the_lowest_layer_imports_no_framework, "world/mod.rs", "fn a() -> tokio::Task {}", "`tokio`"),
        (the_driver_stays_in_its_engine, "http/a.rs", "use rusqlite::Row;", "`rusqlite`"),
        (the_driver_stays_in_its_engine, "store/a.rs", "\nfn a(error: rusqlite::Error) {}", "a.rs:2: `rusqlite`"),
        (the_driver_stays_in_its_engine, "store/a.rs", "#[cfg(test)]\nmod tests { r2d2::Pool::new(x) }", "`r2d2`"),
        (the_driver_stays_in_its_engine, "db/tx.rs", "use rusqlite::{Connection, Params};", "`rusqlite`"),
        (the_driver_stays_in_its_engine, "db/sqlite_like.rs", "r2d2_sqlite::SqliteConnectionManager", "`r2d2_sqlite`"),
        (the_postgresql_driver_stays_in_its_engine, "db/sqlite/a.rs", "use tokio_postgres::Row;", "`tokio_postgres`"),
        (sql_stays_in_the_store, "cli/a.rs", "f(\"SELECT a\n FROM b\")", "SQL outside the store"),
        (sql_stays_in_the_store, "http/a.rs", "let a = r#\"INSERT INTO b VALUES ('\"')\"#;", "SQL outside the store"),
        (sql_stays_in_the_store, "http/a.rs", "'\"'; \"UPDATE a SET b = 1\"", "SQL outside the store"),
        (sql_stays_in_the_store, "http/a.rs", "\"\\\"\"; \"DELETE FROM a\"", "SQL outside the store"),
        (statuses_stay_in_the_reply, "http/a.rs", "hyper::StatusCode::OK", "`StatusCode`"),
        (clock_and_randomness_stay_in_the_world, "store/a.rs", "SystemTime::now()", "`SystemTime`"),
        (clock_and_randomness_stay_in_the_world, "http/a.rs", "jiff::Timestamp\n::now()", "`Timestamp::now`"),
        (async_stays_at_the_edge, "http/a.rs", "async fn a() {}", "`async`"),
        (async_stays_at_the_edge, "store/a.rs", "a\n.await?", "a.rs:2: `await`"),
        (transactions_are_opened_by_the_gate, "http/a.rs", "ctx\n  .store\n  .write(x)", "a.rs:2: `store.write`"),
        (transactions_are_opened_by_the_gate, "interchange/a.rs", "store::act_alone(x)", "`act_alone`"),
        (transactions_are_opened_by_the_gate, "http/a.rs", "ctx.store.read(x)", "`store.read`"),
        (nothing_is_unsafe, "store/a.rs", "unsafe { x() }", "`unsafe`"),
        (no_unwrap_outside_tests, "cli/a.rs", "a()\n    .unwrap();", "a.rs:2: `.unwrap()`"),
        (no_unwrap_outside_tests, "cli/a.rs", "#[cfg(test)]\nmod t { x }\nfn a() { b.unwrap() }", "a.rs:3"),
        (parameters_are_numbered_as_they_appear, "store/a.rs", "\"SELECT $2, $1 FROM a\"", "the order [2, 1]"),
        (parameters_are_numbered_as_they_appear, "store/a.rs", "\"UPDATE a SET b = $1, c = $3\"", "the order [1, 3]"),
        (columns_have_no_numbers, "store/a.rs", "f(|row| {\n  row.get(17)? })", "a.rs:2: read the columns"),
        (columns_have_no_numbers, "store/a.rs", "row.get::<_, Option<String>>(0)", "a.rs:1: read the columns"),
        (a_file_is_short_enough, "cli/a.rs", &long, "401 lines"),
    ];
    for (rule, path, text, expected) in cases {
        let findings = rule(&Source::new(path, text));
        assert_eq!(findings.len(), 1, "{path}: {text}: {findings:?}");
        assert!(findings[0].contains(expected), "{path}: {text}: {findings:?}");
    }
}

#[test]
fn code_that_follows_the_rules_has_no_findings() {
    let cases: [(Rule, &str, &str); 21] = [
        (states_its_purpose, "a.rs", "//! A.\n"),
        (imports_go_down, "cli/a.rs", "use crate::{interchange, domain, http, store, telemetry, world};"),
        (
            imports_go_down,
            "http/a.rs",
            "use crate::interchange::json;\nuse super::store_like;\nuse super::super::domain;",
        ),
        (imports_go_down, "domain/a.rs", "// crate::http\nuse crate::domain::id; const A: &str = \"crate::store::x\";"),
        (imports_go_down, "main.rs", "fn main() { appliance::cli::run() }"),
        (the_lowest_layer_imports_no_framework, "domain/a.rs", "/// Not serde.\nfn serde_like() {}"),
        (sql_stays_in_the_store, "store/a.rs", "const A: &str = \"SELECT a FROM b\";"),
        (the_driver_stays_in_its_engine, "db/sqlite/a.rs", "use rusqlite::Row;"),
        (the_postgresql_driver_stays_in_its_engine, "db/postgres/a.rs", "use tokio_postgres::Row;"),
        (the_driver_stays_in_its_engine, "db/a.rs", "use super::sqlite::driver; // not rusqlite"),
        (columns_have_no_numbers, "store/a.rs", "row.get(\"name\")? + map.get(&1) + list.get(at) // row.get(1)"),
        (sql_stays_in_the_store, "http/a.rs", "// SELECT a FROM b\nlet a = \"Select one FROM us, or UPDATE it\";"),
        (
            clock_and_randomness_stay_in_the_world,
            "http/a.rs",
            "std::time::Instant::now(); tx.now; Timestamp::now_like()",
        ),
        (async_stays_at_the_edge, "store/a.rs", "/* async */ let awaited = \".await\";"),
        (async_stays_at_the_edge, "hr/a.rs", "async fn a() { b().await }"),
        (transactions_are_opened_by_the_gate, "http/server/gate/a.rs", "ctx.store.write(x)"),
        (transactions_are_opened_by_the_gate, "cli/a.rs", "store::act_alone(x)"),
        (no_unwrap_outside_tests, "a.rs", "a.unwrap_or(1); #[cfg(test)]\nmod t { fn a<'b>() { '{'; b.unwrap() } }"),
        (no_unwrap_outside_tests, "a.rs", "// .unwrap()\nlet a = '\\''; let b = \".unwrap()\";"),
        (parameters_are_numbered_as_they_appear, "store/a.rs", "\"SELECT $1, $2 FROM a WHERE b = $1 AND c = $3\""),
        (parameters_are_numbered_as_they_appear, "cli/a.rs", "\"costs $5, see $2\""),
    ];
    for (rule, path, text) in cases {
        assert_eq!(rule(&Source::new(path, text)), Vec::<String>::new(), "{path}: {text}");
    }
}

#[test]
fn an_import_cycle_of_top_level_modules_is_found() {
    let cycle =
        [Source::new("world/mod.rs", "use crate::domain::id;"), Source::new("domain/a.rs", "use crate::world;")];
    assert_eq!(cycles(&cycle).len(), 2);
    assert!(cycles(&cycle[..1]).is_empty());
}
