//! Closed sets of words as enums. `WORDS`, `parse` and `as_str` share one spelling of each word.

/// Defines an enum whose variants are the words of a field, with `WORDS`, `parse` and `as_str`.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* #[doc = concat!("`", $word, "`")] $variant),+
        }

        impl $name {
            /// All words, in the order in which the documentation lists them.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Parses a word, case-sensitively.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Returns the spelling in the API and in the database.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}

pub(crate) use words;
