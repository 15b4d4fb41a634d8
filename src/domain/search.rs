//! The words that candidates are found by: folded (without case and accents), of letters and digits. What is looked for goes
//! the same way, so `Zoe` finds `Zoë` and `mueller` does not find `Müller`, but `muller` does.

use std::collections::BTreeMap;

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};

/// The longest word that is kept, in characters; of a longer one the beginning is.
pub const WORD_CHARACTERS_MAX: usize = 40;

/// Words of one candidate: more than a name has, and a bound on what a row may cost.
pub const WORDS_OF_CANDIDATE_MAX: usize = 32;

/// Words of one search: each is a look-up.
pub const WORDS_OF_SEARCH_MAX: usize = 8;

/// Letters that Unicode does not take apart, and the letters that people type for them. All others follow from their
/// decompositions.
const REPLACED: [(char, &str); 11] = [
    ('æ', "ae"),
    ('đ', "d"),
    ('ð', "d"),
    ('ħ', "h"),
    ('ı', "i"),
    ('ł', "l"),
    ('ŋ', "n"),
    ('ø', "o"),
    ('œ', "oe"),
    ('þ', "th"),
    ('ŧ', "t"),
];

/// The combining class of the voicing marks of kana: with and without them, these are different letters.
const KANA_VOICING: u8 = 8;

/// A text as it is searched in and searched for: decomposed (NFKD), without case (full case folding) and without marks, so
/// that it does not matter how it was typed. This is the only folding; candidates, roles and the career pages share it.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        // Nearly all texts are.
        return text.to_ascii_lowercase();
    }
    // Folding can compose or take apart what was decomposed, so the text is decomposed once more (Unicode, D146).
    let folded = text.chars().nfkd().default_case_fold().nfkd().filter(|c| !is_mark(*c));
    let mut plain = String::with_capacity(text.len());
    for c in folded {
        match REPLACED.iter().find(|(letter, _)| *letter == c) {
            Some((_, letters)) => plain.push_str(letters),
            None => plain.push(c),
        }
    }
    // Syllables of Hangul and voiced kana become one character again, so that a word's length is what people see.
    plain.nfc().collect()
}

/// Whether a character is a mark on the letter before it, or invisible within a word. The vowel signs of Indic scripts, Thai
/// and others (of combining class 0) are letters of their own.
fn is_mark(c: char) -> bool {
    let class = canonical_combining_class(c);
    let is_join = matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}');
    is_join || (class != 0 && class != KANA_VOICING) || (is_combining_mark(c) && class == 0 && !c.is_alphabetic())
}

/// The words of a text, in its order.
pub fn words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let words = folded.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| super::text::cut(word, WORD_CHARACTERS_MAX).to_owned()).collect()
}

/// The words of a candidate, those of the name first, as often as they are there; and whether each is one of the name.
fn all_words(name: &str, email: &str) -> impl Iterator<Item = (String, bool)> {
    let in_name = words(name).into_iter().map(|word| (word, true));
    let in_email = words(email).into_iter().map(|word| (word, false));
    in_name.chain(in_email).take(WORDS_OF_CANDIDATE_MAX)
}

/// What a candidate is found by: each word once, and whether it is one of the name.
pub fn candidate_words(name: &str, email: &str) -> Vec<(String, bool)> {
    let mut found = BTreeMap::new();
    for (word, is_in_name) in all_words(name, email) {
        *found.entry(word).or_insert(false) |= is_in_name;
    }
    found.into_iter().collect()
}

/// What a search is for: each of its words once, of which every one is to be found. `None` where they are too many.
pub fn search_words(text: &str) -> Option<Vec<String>> {
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
pub struct WordPrefix {
    /// The beginning.
    pub text: String,
    /// Whether only words of the name count.
    pub in_name_only: bool,
}

/// Whether a candidate is found by all of these.
pub fn matches_all(name: &str, email: &str, beginnings: &[WordPrefix]) -> bool {
    let words: Vec<(String, bool)> = all_words(name, email).collect();
    let has = |word: &(String, bool), wanted: &WordPrefix| {
        (word.1 || !wanted.in_name_only) && word.0.starts_with(&wanted.text)
    };
    beginnings.iter().all(|wanted| words.iter().any(|word| has(word, wanted)))
}

/// The least text that is behind all that begin with this word.
pub fn prefix_end(word: &str) -> String {
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
        assert_eq!(words("Ευγενία 王 小明 4u"), ["ευγενια", "王", "小明", "4u"]);
        assert_eq!(words(" .,;\0\n"), Vec::<String>::new());
        for (long, letter) in [("x".repeat(100), "x"), ("é".repeat(100), "e")] {
            assert_eq!(words(&long), [letter.repeat(WORD_CHARACTERS_MAX)]);
        }
        assert_eq!(words("A-b  C_d\u{0}9"), ["a", "b", "c", "d", "9"]);
    }

    #[test]
    fn what_is_typed_in_another_way_folds_alike() {
        for (one, other, folded) in [
            ("Nguyễn Thị Đào", "Nguye\u{302}\u{303}n Thi\u{323} Đa\u{300}o", "nguyen thi dao"),
            ("Γιώργος Παπαδόπουλος", "ΓΙΩΡΓΟΣ ΠΑΠΑΔΟΠΟΥΛΟΣ", "γιωργοσ παπαδοπουλοσ"),
            ("Артём Йовков", "АРТЕ\u{308}М И\u{306}ОВКОВ", "артем иовков"),
            ("Straße", "STRASSE", "strasse"),
            ("İpek Işık", "I\u{307}pek Is\u{327}ik", "ipek isik"),
            ("Łukasz Ørsted", "łukasz ørsted", "lukasz orsted"),
            ("ﬁona", "FIONA", "fiona"),
            ("می\u{200c}خواهم", "میخواهم", "میخواهم"),
            ("한지민", "\u{1112}\u{1161}\u{11ab}지민", "한지민"),
            ("がか", "か\u{3099}か", "がか"),
            ("שָׁלוֹם", "שלום", "שלום"),
        ] {
            assert_eq!((fold(one).as_str(), fold(other).as_str()), (folded, folded), "{one} {other}");
        }
        // A virama joins two letters of one word.
        assert_eq!(words("क्षमा").len(), 1);
        assert_ne!(fold("राम"), fold("रमा"), "vowel signs are letters");
    }

    #[test]
    fn a_candidate_is_found_by_each_word_once() {
        let found = candidate_words("Ada Ada Lovelace", "ada@example.org");
        let expected = [("ada", true), ("example", false), ("lovelace", true), ("org", false)];
        assert_eq!(found, expected.map(|(word, in_name)| (word.to_owned(), in_name)));
        let many: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
        assert_eq!(candidate_words(&many.join(" "), "").len(), WORDS_OF_CANDIDATE_MAX);
    }

    #[test]
    fn a_search_has_each_word_once_and_only_the_longer_of_two_that_begin_alike() {
        assert_eq!(search_words("Ann smith ANNA Anna"), Some(vec!["anna".to_owned(), "smith".to_owned()]));
        assert_eq!(search_words(" ... "), Some(Vec::new()));
        let many = |count: usize| (10..10 + count).map(|n| format!("w{n} ")).collect::<String>();
        assert!(search_words(&many(WORDS_OF_SEARCH_MAX)).is_some());
        assert!(search_words(&many(WORDS_OF_SEARCH_MAX + 1)).is_none());
    }

    #[test]
    fn a_word_is_the_beginning_of_one_of_the_candidates() {
        let found = |text: &str, in_name_only| {
            matches_all("Zoë Lovelace", "zl@example.org", &[WordPrefix { text: text.to_owned(), in_name_only }])
        };
        assert!(found("zo", true) && found("ex", false) && found("zl", false));
        assert!(!found("ex", true) && !found("oe", false));
        let both = ["love", "org"].map(|text| WordPrefix { text: text.to_owned(), in_name_only: false });
        assert!(matches_all("Zoë Lovelace", "zl@example.org", &both));
        assert!(!matches_all("Zoë Lovelace", "zl@example.net", &both));
    }

    #[test]
    fn all_that_begin_with_a_word_are_before_what_is_behind_it() {
        for longer in ["ann", "anna", "annzzz", "ann王"] {
            assert!(longer >= "ann" && longer < prefix_end("ann").as_str(), "{longer}");
        }
        assert!("ano" > prefix_end("ann").as_str());
    }
}
