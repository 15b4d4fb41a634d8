//! The words that candidates are found by: lower-cased, without accents, of letters and digits. What is looked for goes
//! the same way, so `Zoe` finds `Zoë` and `mueller` does not find `Müller`, but `muller` does.

use std::collections::BTreeMap;

/// The longest word that is kept, in characters; of a longer one the beginning is.
pub const WORD_CHARACTERS_MAX: usize = 40;

/// Words of one candidate: more than a name has, and a bound on what a row may cost.
pub const WORDS_OF_CANDIDATE_MAX: usize = 32;

/// Words of one search: each is a look-up.
pub const WORDS_OF_SEARCH_MAX: usize = 8;

/// Letters with something on them, and what they are without it.
const FOLDED: [(&str, &str); 23] = [
    ("àáâãäåāăą", "a"),
    ("æ", "ae"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŋ", "n"),
    ("òóôõöøōŏő", "o"),
    ("œ", "oe"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ß", "ss"),
    ("ţťŧț", "t"),
    ("þ", "th"),
    ("ùúûüũūŭůűų", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
];

/// Marks that are written on the letter before them (Unicode's Combining Diacritical Marks).
const MARKS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// The words of a text, in its order.
pub fn words(text: &str) -> Vec<String> {
    if text.is_ascii() {
        // As nearly all texts are: they need no look at each letter.
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        return words.map(|word| super::text::cut(word, WORD_CHARACTERS_MAX).to_ascii_lowercase()).collect();
    }
    let mut words = Vec::new();
    let mut word = String::new();
    for letter in text.chars().flat_map(char::to_lowercase).filter(|letter| !MARKS.contains(letter)) {
        match FOLDED.iter().find(|(letters, _)| !letter.is_ascii() && letters.contains(letter)) {
            Some((_, plain)) => word.push_str(plain),
            None if letter.is_alphanumeric() => word.push(letter),
            None => end(&mut word, &mut words),
        }
    }
    end(&mut word, &mut words);
    words
}

fn end(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(super::text::cut(word, WORD_CHARACTERS_MAX).to_owned());
        word.clear();
    }
}

/// The words of a candidate, those of the name first, as often as they are there; and whether each is one of the name.
fn all_words(name: &str, email: &str) -> impl Iterator<Item = (String, bool)> {
    let in_name = words(name).into_iter().map(|word| (word, true));
    let in_email = words(email).into_iter().map(|word| (word, false));
    in_name.chain(in_email).take(WORDS_OF_CANDIDATE_MAX)
}

/// What a candidate is found by: each word once, and whether it is one of the name.
pub fn of_candidate(name: &str, email: &str) -> Vec<(String, bool)> {
    let mut found = BTreeMap::new();
    for (word, is_in_name) in all_words(name, email) {
        *found.entry(word).or_insert(false) |= is_in_name;
    }
    found.into_iter().collect()
}

/// What a search is for: each of its words once, of which every one is to be found. `None` where they are too many.
pub fn of_search(text: &str) -> Option<Vec<String>> {
    let mut words = words(text);
    words.sort_unstable();
    words.dedup();
    // What begins with the longer word begins with the shorter one too.
    let longer = |word: &String| words.iter().any(|other| other != word && other.starts_with(word));
    let words: Vec<String> = words.iter().filter(|word| !longer(word)).cloned().collect();
    (words.len() <= WORDS_OF_SEARCH_MAX).then_some(words)
}

/// A beginning of words that a candidate is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// The beginning.
    pub text: String,
    /// Whether only words of the name count.
    pub in_name_only: bool,
}

/// Whether a candidate is found by all of these.
pub fn is_found_by(name: &str, email: &str, beginnings: &[Beginning]) -> bool {
    let words: Vec<(String, bool)> = all_words(name, email).collect();
    let has = |word: &(String, bool), wanted: &Beginning| {
        (word.1 || !wanted.in_name_only) && word.0.starts_with(&wanted.text)
    };
    beginnings.iter().all(|wanted| words.iter().any(|word| has(word, wanted)))
}

/// The least text that is behind all that begin with this word.
pub fn behind(word: &str) -> String {
    // No letter or digit is behind the last character there is.
    format!("{word}\u{10ffff}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_of_letters_and_digits_without_case_and_accents() {
        assert_eq!(words("Zoë  O'Brien-Łukasz"), ["zoe", "o", "brien", "lukasz"]);
        assert_eq!(words("Straße Æsir ŒUVRE"), ["strasse", "aesir", "oeuvre"]);
        assert_eq!(words("Zoe\u{308}"), ["zoe"]);
        assert_eq!(words("Ευγενία 王 小明 4u"), ["ευγενία", "王", "小明", "4u"]);
        assert_eq!(words(" .,;\0\n"), Vec::<String>::new());
        for (long, letter) in [("x".repeat(100), "x"), ("é".repeat(100), "e")] {
            assert_eq!(words(&long), [letter.repeat(WORD_CHARACTERS_MAX)]);
        }
        assert_eq!(words("A-b  C_d\u{0}9"), ["a", "b", "c", "d", "9"]);
    }

    #[test]
    fn a_candidate_is_found_by_each_word_once() {
        let found = of_candidate("Ada Ada Lovelace", "ada@example.org");
        let expected = [("ada", true), ("example", false), ("lovelace", true), ("org", false)];
        assert_eq!(found, expected.map(|(word, in_name)| (word.to_owned(), in_name)));
        let many: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
        assert_eq!(of_candidate(&many.join(" "), "").len(), WORDS_OF_CANDIDATE_MAX);
    }

    #[test]
    fn a_search_has_each_word_once_and_only_the_longer_of_two_that_begin_alike() {
        assert_eq!(of_search("Ann smith ANNA Anna"), Some(vec!["anna".to_owned(), "smith".to_owned()]));
        assert_eq!(of_search(" ... "), Some(Vec::new()));
        let many = |count: usize| (10..10 + count).map(|n| format!("w{n} ")).collect::<String>();
        assert!(of_search(&many(WORDS_OF_SEARCH_MAX)).is_some());
        assert!(of_search(&many(WORDS_OF_SEARCH_MAX + 1)).is_none());
    }

    #[test]
    fn a_word_is_the_beginning_of_one_of_the_candidates() {
        let found = |text: &str, in_name_only| {
            is_found_by("Zoë Lovelace", "zl@example.org", &[Beginning { text: text.to_owned(), in_name_only }])
        };
        assert!(found("zo", true) && found("ex", false) && found("zl", false));
        assert!(!found("ex", true) && !found("oe", false));
        let both = ["love", "org"].map(|text| Beginning { text: text.to_owned(), in_name_only: false });
        assert!(is_found_by("Zoë Lovelace", "zl@example.org", &both));
        assert!(!is_found_by("Zoë Lovelace", "zl@example.net", &both));
    }

    #[test]
    fn all_that_begin_with_a_word_are_before_what_is_behind_it() {
        for longer in ["ann", "anna", "annzzz", "ann王"] {
            assert!(longer >= "ann" && longer < behind("ann").as_str(), "{longer}");
        }
        assert!("ano" > behind("ann").as_str());
    }
}
