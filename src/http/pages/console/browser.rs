//! The name of a browser, in a form that people recognize.

/// The browsers, each with its product token. A browser also sends the tokens of the browsers that it imitates, so the
/// order matters: the first entry whose token occurs names the browser.
const BROWSERS: [(&str, &str); 9] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("EdgiOS/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
];

/// The systems. The order matters here too: an iPhone also names Mac OS, and Android also names Linux.
const SYSTEMS: [(&str, &str); 6] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
];

/// Returns the browser and the system that a `User-Agent` names, such as `Firefox, Linux`. If the field names neither,
/// returns its first 40 characters.
pub(super) fn name(user_agent: &str) -> String {
    let find = |list: &[(&str, &'static str)]| list.iter().find(|(token, _)| user_agent.contains(token)).map(|x| x.1);
    let names: Vec<&str> = [find(&BROWSERS), find(&SYSTEMS)].into_iter().flatten().collect();
    if names.is_empty() { user_agent.chars().take(40).collect() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_and_systems_are_recognized() {
        for (user_agent, expected) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0", "Firefox, Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 \
                 Safari/537.36 Edg/156.0",
                "Edge, Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 Version/26.0 Safari/604.1",
                "Safari, iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Mobile \
                 Safari/537.36 EdgA/156.0",
                "Edge, Android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 CriOS/156.0 Safari/604.1",
                "Chrome, iPhone",
            ),
            ("curl/8.14", "curl/8.14"),
            ("", ""),
        ] {
            assert_eq!(name(user_agent), expected);
        }
    }
}
