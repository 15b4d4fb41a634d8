//! The words by which a search finds candidates, members and postings: sequences of letters and digits, folded (in
//! lower case, without accents). The search text is folded in the same way. For example, `Zoe` finds `Zoë`, and
//! `muller` finds `Müller`, but `mueller` does not.

use std::collections::BTreeMap;

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};

/// The maximum length of an indexed word, in characters. Longer words are truncated.
pub const WORD_CHARACTERS_MAX: usize = 40;

/// The maximum number of indexed words per candidate: more than a name and an address usually have.
pub const WORDS_OF_CANDIDATE_MAX: usize = 32;

/// The maximum number of words in one search. Each word costs an index lookup.
pub const WORDS_OF_SEARCH_MAX: usize = 8;

/// Letters that Unicode does not decompose, each with the letters that people type instead.
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

/// The combining class of the kana voicing marks, which turn one letter into another.
const KANA_VOICING: u8 = 8;

/// Folds text for search: decomposes it (NFKD), applies full case folding, removes marks and replaces some letters.
/// Spellings of a word that differ only in case, accents or composition then compare equal. The searches for
/// candidates, members, roles and postings all use this function.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        // Fast path: nearly all text is ASCII.
        return text.to_ascii_lowercase();
    }
    // Case folding can undo the decomposition, so the text is decomposed again (Unicode, D146).
    let folded = text.chars().nfkd().default_case_fold().nfkd().filter(|c| !is_mark(*c));
    let mut plain = String::with_capacity(text.len());
    for c in folded {
        match REPLACED.iter().find(|(letter, _)| *letter == c) {
            Some((_, letters)) => plain.push_str(letters),
            None => plain.push(c),
        }
    }
    // Recompose Hangul syllables and voiced kana, so that each of them counts as one character of a word.
    plain.nfc().collect()
}

/// Returns whether a character is a mark on the preceding letter, or invisible within a word. Vowel signs of combining
/// class 0, such as those of Indic scripts, are letters.
fn is_mark(c: char) -> bool {
    let class = canonical_combining_class(c);
    let is_join = matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}');
    is_join || (class != 0 && class != KANA_VOICING) || (is_combining_mark(c) && class == 0 && !c.is_alphabetic())
}

/// Returns the folded words of a string, in order.
pub fn words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let words = folded.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| super::text::cut(word, WORD_CHARACTERS_MAX).to_owned()).collect()
}

/// Returns the first [`WORDS_OF_CANDIDATE_MAX`] words of a candidate, including duplicates. Words of the name come
/// first, and their flag is true.
fn all_words(name: &str, email: &str) -> impl Iterator<Item = (String, bool)> {
    let in_name = words(name).into_iter().map(|word| (word, true));
    let in_email = words(email).into_iter().map(|word| (word, false));
    in_name.chain(in_email).take(WORDS_OF_CANDIDATE_MAX)
}

/// Returns the distinct words by which a search finds a candidate. The flag is true for words of the name.
pub fn candidate_words(name: &str, email: &str) -> Vec<(String, bool)> {
    let mut distinct = BTreeMap::new();
    for (word, is_in_name) in all_words(name, email) {
        *distinct.entry(word).or_insert(false) |= is_in_name;
    }
    distinct.into_iter().collect()
}

/// Returns the distinct words of a search, all of which must match, without words that are prefixes of others. Returns
/// `None` if there are too many words.
pub fn search_words(text: &str) -> Option<Vec<String>> {
    let mut words = words(text);
    words.sort_unstable();
    words.dedup();
    // A candidate's word that begins with the longer search word also begins with the shorter one.
    let longer = |word: &String| words.iter().any(|other| other != word && other.starts_with(word));
    let words: Vec<String> = words.iter().filter(|word| !longer(word)).cloned().collect();
    (words.len() <= WORDS_OF_SEARCH_MAX).then_some(words)
}

/// A prefix that a word of the candidate must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordPrefix {
    /// The folded prefix.
    pub text: String,
    /// Whether the prefix matches only words of the name.
    pub in_name_only: bool,
}

/// Returns whether each prefix matches a word of the candidate.
pub fn matches_all(name: &str, email: &str, prefixes: &[WordPrefix]) -> bool {
    let words: Vec<(String, bool)> = all_words(name, email).collect();
    let has = |word: &(String, bool), wanted: &WordPrefix| {
        (word.1 || !wanted.in_name_only) && word.0.starts_with(&wanted.text)
    };
    prefixes.iter().all(|wanted| words.iter().any(|word| has(word, wanted)))
}

/// Returns the exclusive upper bound for the words that begin with this word.
pub fn prefix_end(word: &str) -> String {
    // No letter or digit sorts after the last code point.
    format!("{word}\u{10ffff}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_consist_of_folded_letters_and_digits() {
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
    fn different_spellings_of_a_name_fold_alike() {
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
    fn a_candidate_has_each_word_once() {
        let found = candidate_words("Ada Ada Lovelace", "ada@example.org");
        let expected = [("ada", true), ("example", false), ("lovelace", true), ("org", false)];
        assert_eq!(found, expected.map(|(word, in_name)| (word.to_owned(), in_name)));
        let many: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
        assert_eq!(candidate_words(&many.join(" "), "").len(), WORDS_OF_CANDIDATE_MAX);
    }

    #[test]
    fn a_search_drops_duplicates_and_prefixes_of_other_words() {
        assert_eq!(search_words("Ann smith ANNA Anna"), Some(vec!["anna".to_owned(), "smith".to_owned()]));
        assert_eq!(search_words(" ... "), Some(Vec::new()));
        let many = |count: usize| (10..10 + count).map(|n| format!("w{n} ")).collect::<String>();
        assert!(search_words(&many(WORDS_OF_SEARCH_MAX)).is_some());
        assert!(search_words(&many(WORDS_OF_SEARCH_MAX + 1)).is_none());
    }

    #[test]
    fn a_search_word_matches_the_beginning_of_a_candidates_word() {
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
    fn all_words_with_a_prefix_sort_before_the_prefix_end() {
        for longer in ["ann", "anna", "annzzz", "ann王"] {
            assert!(longer >= "ann" && longer < prefix_end("ann").as_str(), "{longer}");
        }
        assert!("ano" > prefix_end("ann").as_str());
    }
}
