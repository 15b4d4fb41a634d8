//! The path to which a browser returns after a sign-in, a confirmation or a decision. The path comes from the request,
//! so a stranger can choose it in a link.

/// The maximum length of a path to return to, in bytes. Paths of the console are shorter.
const BYTES_MAX: usize = 2_000;

/// Returns the path if it leads into the staff console of this service. A path that contains `//` or `\` is refused,
/// because a host can follow `//`, and browsers read `\` as `/`. A path that contains `/..` is refused, because it can
/// leave the console.
pub fn parse(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/app")?;
    let is_within = rest.is_empty() || rest.starts_with('/') || rest.starts_with('?');
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    // Browsers read `%2e` in a path as a dot (WHATWG URL, "double-dot path segment").
    let dots = path.to_ascii_lowercase().replace("%2e", ".");
    (is_within && is_plain && !path.contains("//") && !dots.contains("/..") && path.len() <= BYTES_MAX).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_console_are_accepted() {
        for good in ["/app", "/app/", "/app?x=1", "/app/acme/roles/role_1?step=2#top", "/app/acme/candidates?q=%C3%A9"]
        {
            assert_eq!(parse(good), Some(good));
        }
        for bad in [
            "",
            "/",
            "/apple",
            "app",
            "//evil.example/app",
            "/app//evil.example",
            "/app\\evil",
            "https://evil.example/app",
            "/app/\r\nSet-Cookie: a=b",
            "/app/ä",
            "/app/../docs",
            "/app/%2e%2E/docs",
            "/app/.%2e/docs",
            "/app/%2E./docs",
            "javascript:alert(1)",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        let longest = format!("/app/{}", "x".repeat(1_995));
        assert!(parse(&longest).is_some() && parse(&format!("{longest}x")).is_none());
    }
}
