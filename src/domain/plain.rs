//! The characters that text may contain: one rule for a single line and one for multi-line text. Both rules apply to
//! text from all sources: forms, staff, admins, the command line and imports.
//!
//! A single line is displayed as it is stored. It has no control characters, no characters that change the direction of
//! text, and no invisible characters, which could make two different names look the same. Three kinds of invisible
//! characters are part of correct spelling and are allowed where they have an effect: the joiners of Arabic, Indic and
//! similar scripts next to letters of these scripts, the joiner and selectors of emoji, and the selectors of Han
//! ideographs and Mongolian letters.

/// The reason why text is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// A NUL character.
    Nul,
    /// A control character.
    Control(char),
    /// A line break in a single line.
    LineBreak(char),
    /// A character that changes the direction of text.
    Direction(char),
    /// An invisible character.
    Invisible(char),
}

impl Flaw {
    /// Returns the flaw as a sentence without its subject.
    pub fn sentence(self) -> String {
        let (kind, c) = match self {
            Self::Nul => ("NUL character", '\0'),
            Self::Control(c) => ("control character", c),
            Self::LineBreak(c) => ("line break", c),
            Self::Direction(c) => ("character that changes the direction of text", c),
            Self::Invisible(c) => ("invisible character", c),
        };
        format!("must have no {kind} (U+{:04X})", u32::from(c))
    }
}

/// Returns the first flaw in a single line, if any.
pub fn flaw_of_line(text: &str) -> Option<Flaw> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        // Fast path: nearly all text is printable ASCII.
        return None;
    }
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let flaw = control_flaw(c, is_line_break).or_else(|| invisible_flaw(before, c, rest.clone().next()));
        if flaw.is_some() {
            return flaw;
        }
        before = Some(c);
    }
    None
}

/// Returns the first flaw in multi-line text, if any: a control character other than a tab, CR or LF. Characters that
/// change the direction of text are allowed, because their effect ends with the line. Invisible characters are allowed,
/// because multi-line text does not identify anybody.
pub fn flaw_of_lines(text: &str) -> Option<Flaw> {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).find_map(|c| control_flaw(c, |_| false))
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn control_flaw(c: char, is_break: impl Fn(char) -> bool) -> Option<Flaw> {
    match c {
        '\0' => Some(Flaw::Nul),
        c if is_break(c) => Some(Flaw::LineBreak(c)),
        c if c.is_control() => Some(Flaw::Control(c)),
        _ => None,
    }
}

/// Returns the flaw if a character is invisible or changes the direction of text. A joiner or selector is not a flaw
/// next to the characters that it belongs with.
fn invisible_flaw(before: Option<char>, c: char, after: Option<char>) -> Option<Flaw> {
    match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(Flaw::Direction(c)),
        '\u{200c}' if is_joined(before, after) => None,
        '\u{200d}' if is_joined(before, after) || (before.is_some_and(is_emoji) && after.is_some_and(is_emoji)) => None,
        '\u{fe0e}' | '\u{fe0f}' if before.is_some_and(|c| is_emoji(c) || is_keycap(c)) => None,
        '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' if before.is_some_and(is_ideograph) => None,
        '\u{180b}'..='\u{180d}' if before.is_some_and(|c| ('\u{1820}'..='\u{18aa}').contains(&c)) => None,
        c if is_invisible(c) => Some(Flaw::Invisible(c)),
        _ => None,
    }
}

/// Returns whether a joiner is part of correct spelling. It is correct between two letters of a joining script, or
/// after a virama, where it may end a word (the older spelling of final consonants in Malayalam).
fn is_joined(before: Option<char>, after: Option<char>) -> bool {
    let is_virama = before.is_some_and(|c| {
        matches!(
            c,
            '\u{94d}'
                | '\u{9cd}'
                | '\u{a4d}'
                | '\u{acd}'
                | '\u{b4d}'
                | '\u{bcd}'
                | '\u{c4d}'
                | '\u{ccd}'
                | '\u{d4d}'
                | '\u{dca}'
        )
    });
    is_virama || (before.is_some_and(is_of_joining_script) && after.is_some_and(is_of_joining_script))
}

/// Returns whether a character is visible and in a block of a script that uses joiners: Arabic, Syriac, N'Ko and
/// Mongolian, whose letters connect, and the scripts of India, Sri Lanka, Myanmar and Cambodia.
fn is_of_joining_script(c: char) -> bool {
    let is_in_block = matches!(c,
        '\u{600}'..='\u{7ff}' | '\u{840}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' | '\u{1800}'..='\u{18af}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    is_in_block && !is_invisible(c)
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether a character is an emoji, or can be next to a joiner or selector within an emoji.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}'
        | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}'
        | '\u{3297}' | '\u{3299}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

fn is_keycap(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*')
}

/// Returns whether a character has no glyph (Unicode's Default_Ignorable_Code_Point) or marks an interlinear
/// annotation.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_lines_with_control_or_invisible_characters_are_flawed() {
        for (c, flaw) in [
            ('\0', Flaw::Nul),
            ('\u{1b}', Flaw::Control('\u{1b}')),
            ('\t', Flaw::Control('\t')),
            ('\u{7f}', Flaw::Control('\u{7f}')),
            ('\u{9b}', Flaw::Control('\u{9b}')),
            ('\n', Flaw::LineBreak('\n')),
            ('\u{2028}', Flaw::LineBreak('\u{2028}')),
            ('\u{202e}', Flaw::Direction('\u{202e}')),
            ('\u{2066}', Flaw::Direction('\u{2066}')),
            ('\u{200b}', Flaw::Invisible('\u{200b}')),
            ('\u{200c}', Flaw::Invisible('\u{200c}')),
            ('\u{200d}', Flaw::Invisible('\u{200d}')),
            ('\u{200f}', Flaw::Invisible('\u{200f}')),
            ('\u{ad}', Flaw::Invisible('\u{ad}')),
            ('\u{3164}', Flaw::Invisible('\u{3164}')),
            ('\u{fe0f}', Flaw::Invisible('\u{fe0f}')),
            ('\u{feff}', Flaw::Invisible('\u{feff}')),
            ('\u{e0041}', Flaw::Invisible('\u{e0041}')),
        ] {
            for text in [format!("a{c}b"), format!("{c}a"), format!("ä{c}")] {
                assert_eq!(flaw_of_line(&text), Some(flaw), "{text:?}");
            }
        }
        assert_eq!(
            Flaw::Direction('\u{202e}').sentence(),
            "must have no character that changes the direction of text (U+202E)"
        );
    }

    #[test]
    fn joiners_and_selectors_are_allowed_only_where_spelling_needs_them() {
        for good in [
            "Zoë O’Brien-Łukasz",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "ശ്രീരാജന്\u{200d}",
            "ශ්\u{200d}රී",
            "👩\u{200d}💻",
            "👩🏽\u{200d}❤\u{fe0f}\u{200d}👨🏿",
            "5\u{fe0f}\u{20e3}",
            "葛\u{e0100}城",
            "ᠮᠣᠩᠭᠣᠯ\u{180b}",
        ] {
            assert_eq!(flaw_of_line(good), None, "{good}");
        }
        for bad in [
            "می\u{200c}",
            "\u{200c}می",
            "a\u{200d}💻",
            "میa\u{200c}م",
            "葛\u{fe0f}",
            "a\u{e0100}",
            "می\u{200c}\u{200c}خ",
        ] {
            assert!(flaw_of_line(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn multi_line_text_may_have_tabs_and_line_breaks_but_no_other_control_characters() {
        for good in ["a\tb\r\nc\n\u{2028}d", "\u{202e}a\u{200b}", ""] {
            assert_eq!(flaw_of_lines(good), None, "{good:?}");
        }
        for (bad, flaw) in [("a\0", Flaw::Nul), ("\u{8}", Flaw::Control('\u{8}')), ("\u{9b}", Flaw::Control('\u{9b}'))]
        {
            assert_eq!(flaw_of_lines(bad), Some(flaw));
        }
    }
}
