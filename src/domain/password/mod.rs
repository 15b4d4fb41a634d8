//! Refuses passwords that are easy to guess.
//!
//! The rule splits a password into as few pieces as possible. A piece is a common word, a part of the user's address or
//! name, a repeated character, a run of neighbours (digits, alphabet, keyboard), a year, or a single character.
//! Attackers try combinations of a few pieces first, so a password with fewer than five pieces is refused regardless of
//! its length. `common.txt` contains the common words.

use super::text::Email;

/// The minimum length of a password, in characters.
pub const CHARACTERS_MIN: usize = 12;

/// The maximum length of a password, in characters. Longer passwords are not safer and take longer to hash.
pub const CHARACTERS_MAX: usize = 1_000;

/// The minimum number of pieces in an accepted password.
const PIECES_MIN: usize = 5;

/// The words that attackers try first.
const COMMON: &str = include_str!("common.txt");

/// Sequences of neighbours on keyboards, in the alphabet and among digits. A run can follow them in either direction.
const ROWS: [&str; 20] = [
    "01234567890",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiopü",
    "yxcvbnm",
    "azertyuiop",
    "qsdfghjklm",
    "wxcvbn",
    "!@#$%^&*()_+",
    "!\"§$%&/()=?",
    "1qaz",
    "2wsx",
    "3edc",
    "4rfv",
    "5tgb",
    "6yhn",
    "7ujm",
    "147258369",
];

/// The minimum length of a run of neighbours, in characters.
const RUN_CHARACTERS_MIN: usize = 3;

/// The reason why a password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordFault {
    /// The password is too short or too long. The value is its number of characters.
    Length(usize),
    /// The password only repeats a string of fewer than twelve characters.
    Repeats,
    /// The password is little more than the user's address or name.
    OfUser,
    /// The password is common, or a combination of a few common words and runs.
    Common,
}

impl PasswordFault {
    /// Returns the reason as a sentence for the user.
    pub fn sentence(self) -> String {
        match self {
            Self::Length(characters) => {
                format!(
                    "a password must have {CHARACTERS_MIN} to {CHARACTERS_MAX} characters; this one has {characters}"
                )
            }
            Self::Repeats => {
                format!(
                    "this password only repeats a string of fewer than {CHARACTERS_MIN} characters and is easy to \
                     guess; choose another one"
                )
            }
            Self::OfUser => {
                "this password is little more than the user's address or name and is easy to guess; choose another one"
                    .to_owned()
            }
            Self::Common => {
                "this password is among the first that attackers try: common words, or runs of digits or adjacent keys \
                 on a keyboard; choose several unrelated words"
                    .to_owned()
            }
        }
    }
}

/// Checks that the password has an allowed length and is hard to guess.
///
/// # Errors
/// Returns the first reason why the password is refused.
pub fn check(password: &str, email: &Email, name: &str) -> Result<(), PasswordFault> {
    check_length(password)?;
    let characters: Vec<char> = password.chars().flat_map(char::to_lowercase).collect();
    if is_repetition(&characters) {
        return Err(PasswordFault::Repeats);
    }
    let common: Vec<Vec<char>> = character_lists(COMMON.lines().filter(|line| !line.starts_with('#')));
    if count_pieces(&characters, &common) < PIECES_MIN {
        return Err(PasswordFault::Common);
    }
    let own: Vec<Vec<char>> = own_words(email, name).into_iter().chain(common).collect();
    if count_pieces(&characters, &own) < PIECES_MIN { Err(PasswordFault::OfUser) } else { Ok(()) }
}

/// Checks that the password has an allowed length. This check does not need the user's address and name.
///
/// # Errors
/// [`PasswordFault::Length`] if the length is not allowed.
pub fn check_length(password: &str) -> Result<(), PasswordFault> {
    let characters = password.chars().count();
    if (CHARACTERS_MIN..=CHARACTERS_MAX).contains(&characters) {
        Ok(())
    } else {
        Err(PasswordFault::Length(characters))
    }
}

/// Returns the user's address and name, whole and split into parts. Omits strings of fewer than [`RUN_CHARACTERS_MIN`]
/// characters.
fn own_words(email: &Email, name: &str) -> Vec<Vec<char>> {
    let name = name.to_lowercase();
    let texts = [email.key(), name.trim()];
    let (local, domain) = email.key().split_once('@').unwrap_or((email.key(), ""));
    let parts = texts.into_iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    let without_spaces: String = name.split_whitespace().collect();
    let whole = [email.key(), local, domain, name.trim(), without_spaces.as_str()];
    character_lists(whole.into_iter().chain(parts).filter(|word| word.chars().count() >= RUN_CHARACTERS_MIN))
}

fn character_lists<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Vec<char>> {
    texts.map(|text| text.chars().collect()).collect()
}

/// Returns whether the password only repeats a string of fewer than twelve characters.
fn is_repetition(characters: &[char]) -> bool {
    let count = characters.len();
    (1..CHARACTERS_MIN.min(count / 2 + 1)).any(|unit| (unit..count).all(|at| characters[at] == characters[at - unit]))
}

/// Returns the smallest number of pieces that make up the characters.
fn count_pieces(characters: &[char], words: &[Vec<char>]) -> usize {
    // The smallest number of pieces that make up each prefix.
    let mut fewest = vec![usize::MAX; characters.len() + 1];
    fewest[0] = 0;
    for start in 0..characters.len() {
        let rest = &characters[start..];
        let lengths = words.iter().filter(|word| begins_with(rest, word)).map(Vec::len);
        let lengths = lengths.chain(1..=run_length(rest).max(year_length(rest)).max(1));
        for end in lengths.map(|length| start + length) {
            fewest[end] = fewest[end].min(fewest[start] + 1);
        }
    }
    fewest[characters.len()]
}

/// Returns whether the characters begin with a word, literally or with well-known substitutions for letters.
fn begins_with(rest: &[char], word: &[char]) -> bool {
    rest.len() >= word.len()
        && word.iter().zip(rest).all(|(wanted, given)| wanted == given || *wanted == unmask(*given))
}

/// Returns the letter that a digit or sign usually replaces. Returns any other character unchanged.
fn unmask(character: char) -> char {
    match character {
        '@' | '4' => 'a',
        '3' => 'e',
        '1' | '!' => 'i',
        '0' => 'o',
        '$' | '5' => 's',
        '7' => 't',
        _ => character,
    }
}

/// Returns the length of the run at the beginning: repetitions of one character, or neighbours in one row. Two equal
/// characters are a run; a run of neighbours has at least three.
fn run_length(rest: &[char]) -> usize {
    let same = rest.iter().take_while(|c| **c == rest[0]).count();
    let of_row = |row: &str, forward: bool| {
        let row: Vec<char> = if forward { row.chars().collect() } else { row.chars().rev().collect() };
        let from = |at: usize| row[at..].iter().zip(rest).take_while(|(a, b)| a == b).count();
        (0..row.len()).map(from).max().unwrap_or_default()
    };
    let longest = ROWS.iter().flat_map(|row| [of_row(row, true), of_row(row, false)]).max().unwrap_or_default();
    same.max(if longest >= RUN_CHARACTERS_MIN { longest } else { 0 })
}

/// Returns 4 if the characters begin with a year that people append to words, otherwise 0.
fn year_length(rest: &[char]) -> usize {
    let digits: String = rest.iter().take(4).collect();
    let is_year = digits.parse::<u32>().is_ok_and(|year| (1900..2100).contains(&year));
    if is_year { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(password: &str) -> Result<(), PasswordFault> {
        check(password, &Email::parse("Ada.Lovelace@acme.example").unwrap(), "Ada Lovelace")
    }

    #[test]
    fn common_passwords_are_refused_regardless_of_their_length() {
        for password in [
            "123456789012",
            "1234567890123456",
            "098765432109",
            "qwertyuiop12",
            "qwertzuiop123",
            "QWERTYUIOPASDFGHJKL",
            "asdfghjkl123",
            "1qaz2wsx3edc",
            "zaq12wsxcde3",
            "qazwsxedcrfv",
            "password1234",
            "Password123!",
            "P@ssw0rd1234",
            "passwort2026",
            "Welcome2024!",
            "Willkommen123",
            "Summer2025!!",
            "sommer2026!!",
            "letmein12345",
            "iloveyou1234",
            "administrator",
            "Administrator1!",
            "changeme1234",
            "correcthorsebatterystaple",
            "abcdefghijkl",
            "abcd1234efgh",
            "112233445566",
            "q1w2e3r4t5y6",
            "a1b2c3d4e5f6",
            "!@#$%^&*()_+",
            "passwordadmin",
            "superman-batman",
            "football2020",
        ] {
            assert_eq!(verdict(password), Err(PasswordFault::Common), "{password}");
        }
    }

    #[test]
    fn repetitions_of_a_short_string_are_refused() {
        let many = "x".repeat(1_000);
        for password in [
            "aaaaaaaaaaaa",
            "ääääääääääää",
            "abcabcabcabc",
            "passwordpassword",
            "xK9-qxK9-qxK9-q",
            "121212121212",
            &many,
        ] {
            assert_eq!(verdict(password), Err(PasswordFault::Repeats), "{password}");
        }
    }

    #[test]
    fn the_address_its_local_part_and_the_name_are_refused_as_passwords() {
        for password in [
            "ada.lovelace@acme.example",
            "Ada.Lovelace@ACME.example",
            "ada.lovelace",
            "Ada Lovelace",
            "adalovelace1",
            "ADA LOVELACE!",
            "AdaLovelace2026",
            "lovelace-ada",
            "acme.example1",
            "ada@acme.example",
        ] {
            assert_eq!(verdict(password), Err(PasswordFault::OfUser), "{password}");
        }
    }

    #[test]
    fn passwords_that_are_hard_to_guess_are_accepted() {
        for password in [
            "correct horse battery",
            "a raven counts nine lanterns",
            "kX9$fQ2!vBn7",
            "three old tin boats",
            "#{]&)~>-%=;|",
            "Ada Lovelace sold nine looms",
            "мой старый зелёный дом",
            "sieben zwerge am fluss",
            "99 luftballons im regen",
            "0e9b7c51d2aa4f6f",
            "first horse battery",
            " first horse battery ",
        ] {
            assert_eq!(verdict(password), Ok(()), "{password}");
        }
    }

    #[test]
    fn a_password_has_12_to_1000_characters() {
        let long: String = (0..1_001).map(|n| char::from(b'a' + (n * n % 26) as u8)).collect();
        assert_eq!(verdict("tin boat old"), Ok(()));
        assert_eq!(
            (verdict("tin boat ol"), verdict(&long)),
            (Err(PasswordFault::Length(11)), Err(PasswordFault::Length(1_001)))
        );
        assert_eq!(verdict(&long[..1_000]), Ok(()));
    }

    #[test]
    fn the_list_of_common_words_is_sorted_and_lower_case() {
        let lines: Vec<&str> = COMMON.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.is_sorted() && lines.len() > 300);
        assert!(lines.iter().all(|line| line.len() >= 3 && **line == line.to_lowercase() && line.trim() == *line));
    }
}
