//! Ids: opaque text, one type for each thing, built only by its parser or made new.
//!
//! New ids are a short type prefix, `_`, and a UUIDv7 in Crockford base 32, as the TypeID specification has it, so
//! they sort by the time they were made. Nothing here knows where random bytes come from.

use super::timestamp::Timestamp;

/// An id is at most this many characters of `A-Z a-z 0-9 _ -`.
pub const ID_CHARACTERS_MAX: usize = 64;

/// Random bytes that [`Id::from_parts`] takes: the 74 random bits of a UUIDv7, rounded up.
pub const ID_RANDOM_BYTES: usize = 10;

const CROCKFORD: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// What all id types can do.
pub trait Id: Sized {
    /// What stands before the `_` of a new id.
    const PREFIX: &'static str;

    /// The id that is spelled so; `None` where it has a character too many or a wrong one.
    fn parse(text: &str) -> Option<Self>;

    /// A new id from the time and random bytes.
    fn from_parts(now: Timestamp, random: [u8; ID_RANDOM_BYTES]) -> Self;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl Id for $name {
            const PREFIX: &'static str = $prefix;

            fn parse(text: &str) -> Option<Self> {
                is_id(text).then(|| Self(text.to_owned()))
            }

            fn from_parts(now: Timestamp, random: [u8; ID_RANDOM_BYTES]) -> Self {
                Self(new_id($prefix, uuid_v7(now, random)))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

ids! {
    /// A company on this appliance.
    OrganizationId = "org",
    /// A person of staff.
    UserId = "user",
    /// A job that is recruited for.
    RoleId = "role",
    /// One step of a role's pipeline.
    RoleStepId = "step",
    /// A person who applies to one organization.
    CandidateId = "cand",
    /// A candidate's application to one role.
    ApplicationId = "app",
    /// One step of that application.
    CandidateStepId = "cstep",
    /// What somebody applied with.
    SignupId = "sign",
    /// What was uploaded with it.
    AttachmentId = "doc",
    /// A key that acts as a user.
    ApiKeyId = "key",
    /// One row of what was decided.
    ActivityId = "act",
    /// One message owed to an HR system.
    DeliveryId = "evt",
    /// One request, as its answer and the log name it.
    RequestId = "req",
}

impl DeliveryId {
    /// The id of the message about something that was decided: always the same, so that a receiver knows a message that
    /// was made anew.
    pub fn about(activity: &ActivityId) -> Self {
        let unique = activity.0.strip_prefix("act_").unwrap_or(&activity.0);
        Self(format!("{}_{unique}", Self::PREFIX))
    }
}

/// Whether a text could be an id of any kind.
pub fn is_id(text: &str) -> bool {
    (1..=ID_CHARACTERS_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The id of a usage row: `use_` and its timestamp, in microseconds, in the base of the other ids.
pub fn usage_id(at: Timestamp) -> String {
    format!("use_{}", base32(u128::from(at.micros().unsigned_abs()), 13))
}

/// Random bytes as text of the same alphabet, for tokens: 26 characters for each 16 bytes.
pub fn token(random: &[u8]) -> String {
    let mut text = String::new();
    for chunk in random.chunks(16) {
        let number = chunk.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        text.push_str(&base32(number, (chunk.len() * 8).div_ceil(5)));
    }
    text
}

/// RFC 9562 §5.7: 48 bits of milliseconds, the version, 12 random bits, the variant, 62 random bits.
fn uuid_v7(now: Timestamp, random: [u8; ID_RANDOM_BYTES]) -> u128 {
    let millis = u128::from((now.micros() / 1_000).unsigned_abs()) & 0xffff_ffff_ffff;
    let random = random.iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    let a = (random >> 62) & 0xfff;
    let b = random & 0x3fff_ffff_ffff_ffff;
    millis << 80 | 0x7 << 76 | a << 64 | 0b10 << 62 | b
}

fn new_id(prefix: &str, uuid: u128) -> String {
    let mut id = String::with_capacity(prefix.len() + 27);
    id.push_str(prefix);
    id.push('_');
    id.extend(base32_digits(uuid, 26));
    id
}

fn base32(number: u128, digits: usize) -> String {
    base32_digits(number, digits).collect()
}

fn base32_digits(number: u128, digits: usize) -> impl Iterator<Item = char> {
    (0..digits).rev().map(move |digit| char::from(CROCKFORD[(number >> (digit * 5) & 31) as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_1_to_64_characters_of_the_alphabet() {
        for good in ["a", "role_01k", "A-Z_9", &"x".repeat(64)] {
            assert!(RoleId::parse(good).is_some(), "{good}");
        }
        for bad in ["", "a b", "a/b", "ä", "a\0", "a.b", &"x".repeat(65)] {
            assert!(RoleId::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn new_ids_have_their_prefix_and_sort_by_time() {
        let earlier = RoleId::from_parts(Timestamp::from_micros(1_700_000_000_000_000), [255; 10]);
        let later = RoleId::from_parts(Timestamp::from_micros(1_700_000_000_001_000), [0; 10]);
        assert!(earlier.as_str().starts_with("role_") && earlier.as_str().len() == 31);
        assert!(earlier < later);
    }

    #[test]
    fn a_message_is_named_after_what_it_is_about() {
        let activity = ActivityId::from_parts(Timestamp::from_micros(1_700_000_000_000_000), [7; 10]);
        let about = DeliveryId::about(&activity);
        assert_eq!(about.as_str().strip_prefix("evt_"), activity.as_str().strip_prefix("act_"));
        assert_eq!(DeliveryId::parse(about.as_str()), Some(about));
    }

    #[test]
    fn a_uuid_of_the_specification_reads_the_same_in_base_32() {
        // The TypeID specification's own valid example.
        let uuid = 0x0189_0a5d_ac96_774b_bcce_b302_099a_8057_u128;
        assert_eq!(base32(uuid, 26), "01h455vb4pex5vsknk084sn02q");
    }

    #[test]
    fn version_and_variant_stand_where_the_rfc_has_them() {
        let uuid = uuid_v7(Timestamp::from_micros(0), [0xff; 10]);
        assert_eq!(uuid >> 76 & 0xf, 7);
        assert_eq!(uuid >> 62 & 0b11, 0b10);
    }

    #[test]
    fn usage_ids_sort_like_their_times() {
        let earlier = usage_id(Timestamp::from_micros(1_763_716_353_123_456));
        assert!(earlier.starts_with("use_") && earlier < usage_id(Timestamp::from_micros(1_763_716_353_123_457)));
    }
}
