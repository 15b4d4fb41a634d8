//! The list of an organization's members: its order, which is by name, and its search, which is by name or address.
//! Both ignore case and accents.

use super::id::UserId;
use super::search::{self, WordPrefix};

/// The name and the address of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberName {
    pub user_id: UserId,
    pub name: String,
    pub email: String,
}

/// The position of a member in the list: the folded name, and the id for members with the same name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberPosition {
    pub name: String,
    pub user_id: UserId,
}

impl MemberPosition {
    /// Returns the position of a member. The position contains no line break.
    pub fn of(member: &MemberName) -> Self {
        let name = search::fold(&member.name).replace(char::is_control, " ");
        Self { name, user_id: member.user_id.clone() }
    }
}

/// Returns the positions of at most `rows_max` matching members after a position, in order. A member matches if each of
/// `words` is the beginning of a word in the member's name or address.
pub fn page(
    members: &[MemberName],
    words: Vec<String>,
    after: Option<&MemberPosition>,
    rows_max: usize,
) -> Vec<MemberPosition> {
    let prefixes: Vec<WordPrefix> = words.into_iter().map(|text| WordPrefix { text, in_name_only: false }).collect();
    let is_match = |member: &&MemberName| search::matches_all(&member.name, &member.email, &prefixes);
    let positions = members.iter().filter(is_match).map(MemberPosition::of);
    let mut found: Vec<MemberPosition> = positions.filter(|own| after.is_none_or(|after| own > after)).collect();
    found.sort_unstable();
    found.truncate(rows_max);
    found
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    const MEMBERS: [(&str, &str, &str); 5] = [
        ("u1", "Zoë Álvarez", "zoe@acme.example"),
        ("u2", "ada Lovelace", "countess@engines.example"),
        ("u3", "Ada Lovelace", "ada@acme.example"),
        ("u4", "Émile", "emile.2@acme.example"),
        ("u5", "Bob\nSmith", "bob@acme.example"),
    ];

    fn found(q: &str, after: Option<&str>, rows_max: usize) -> Vec<String> {
        let member = |(id, name, email): (&str, &str, &str)| MemberName {
            user_id: UserId::parse(id).unwrap(),
            name: name.to_owned(),
            email: email.to_owned(),
        };
        let members = MEMBERS.map(member);
        let after =
            after.map(|id| MemberPosition::of(members.iter().find(|member| member.user_id.as_str() == id).unwrap()));
        let page = page(&members, search::search_words(q).unwrap(), after.as_ref(), rows_max);
        page.into_iter().map(|position| position.user_id.to_string()).collect()
    }

    #[test]
    fn members_are_sorted_by_name_regardless_of_case_and_accents() {
        assert_eq!(found("", None, 9), ["u2", "u3", "u5", "u4", "u1"]);
    }

    #[test]
    fn a_page_begins_after_the_last_member_of_the_previous_page() {
        assert_eq!(found("", None, 2), ["u2", "u3"]);
        assert_eq!(found("", Some("u3"), 2), ["u5", "u4"]);
        assert_eq!(found("", Some("u4"), 2), ["u1"]);
        assert_eq!(found("", Some("u1"), 2), Vec::<String>::new());
        assert_eq!(found("acme", Some("u3"), 2), ["u5", "u4"]);
    }

    #[test]
    fn each_search_word_begins_a_word_of_the_name_or_address() {
        for (q, expected) in [
            ("ada", &["u2", "u3"][..]),
            ("ADA acme", &["u3"]),
            ("alvar zo", &["u1"]),
            ("engines.example", &["u2"]),
            ("emile", &["u4"]),
            ("mile", &[]),
            ("smith", &["u5"]),
            (" ,", &["u2", "u3", "u5", "u4", "u1"]),
        ] {
            assert_eq!(found(q, None, 9), expected, "{q}");
        }
    }
}
