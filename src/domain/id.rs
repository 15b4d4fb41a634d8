//! Ids: opaque strings, with one type for each kind of record. Ids are created only by parsing, by generation, or by
//! [`DeliveryId::about`].
//!
//! A new id is a short type prefix, `_` and a UUIDv7 in Crockford base 32, as the TypeID specification defines it. New
//! ids of one type sort by creation time, to the millisecond. The caller passes in the random bytes.

use super::timestamp::Timestamp;

/// The maximum number of characters in an id. An id consists of the characters `A-Z a-z 0-9 _ -`.
pub const ID_CHARACTERS_MAX: usize = 64;

/// The number of random bytes that [`Id::from_parts`] needs: the 74 random bits of a UUIDv7, rounded up.
pub const ID_RANDOM_BYTES: usize = 10;

const CROCKFORD: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Parsing and generation, which all id types share.
pub trait Id: Sized {
    /// The type prefix: the part of a new id before the `_`.
    const PREFIX: &'static str;

    /// Parses an id. Returns `None` if the string is empty, is too long, or has a character outside the alphabet.
    fn parse(text: &str) -> Option<Self>;

    /// Creates a new id from the time and random bytes.
    fn from_parts(now: Timestamp, random: [u8; ID_RANDOM_BYTES]) -> Self;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Returns the id as a string.
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
    /// The id of an organization, which is a customer of the service.
    OrganizationId = "org",
    /// The id of a user, a person who can sign in.
    UserId = "user",
    /// The id of a session, which is the signed-in state of a user's browser.
    SessionId = "ses",
    /// The id of a passkey, with which a user signs in.
    PasskeyId = "pk",
    /// The id of a role, which is a job with one or more positions.
    RoleId = "role",
    /// The id of one step in a role's pipeline.
    RoleStepId = "step",
    /// The id of a candidate, who applies to one organization.
    CandidateId = "cand",
    /// The id of a candidate's application to one role.
    ApplicationId = "app",
    /// The id of one step of an application.
    CandidateStepId = "cstep",
    /// The id of a decision batch, which is several decisions that were made in one request.
    DecisionBatchId = "batch",
    /// The id of a signup, which is a submitted application form.
    SignupId = "sign",
    /// The id of an attachment, which is a CV or another file that was submitted with an application or added by an
    /// import.
    AttachmentId = "doc",
    /// The id of an API key.
    ApiKeyId = "key",
    /// The id of one row in the activity chain.
    ActivityId = "act",
    /// The id of a delivery, which is one event that the service owes to an HR system.
    DeliveryId = "evt",
    /// The id of one request. The response and the log line show this id.
    RequestId = "req",
}

impl DeliveryId {
    /// Returns the id of the delivery about an activity row. The same row always leads to the same id, so a receiver
    /// recognizes a delivery that was created again.
    pub fn about(activity: &ActivityId) -> Self {
        let unique = activity.0.strip_prefix("act_").unwrap_or(&activity.0);
        Self(format!("{}_{unique}", Self::PREFIX))
    }
}

/// Returns whether a string could be an id of any kind.
pub fn is_id(text: &str) -> bool {
    (1..=ID_CHARACTERS_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Returns the id of a usage row: `use_` and the row's timestamp in microseconds, in Crockford base 32.
pub fn usage_id(at: Timestamp) -> String {
    format!("use_{}", base32(u128::from(at.micros().unsigned_abs()), 13))
}

/// Encodes random bytes as a token in Crockford base 32: 26 characters for every 16 bytes.
pub fn token(random: &[u8]) -> String {
    let mut text = String::new();
    for chunk in random.chunks(16) {
        let number = chunk.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        text.push_str(&base32(number, (chunk.len() * 8).div_ceil(5)));
    }
    text
}

/// Returns whether a byte can occur in a token, that is, whether it is a digit of Crockford base 32.
pub fn is_token_byte(byte: u8) -> bool {
    CROCKFORD.contains(&byte)
}

/// Returns a UUIDv7 (RFC 9562 §5.7): 48 bits of milliseconds, the version, 12 random bits, the variant and 62 random
/// bits.
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
    fn ids_have_1_to_64_characters_of_the_alphabet() {
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
    fn a_delivery_id_follows_from_the_id_of_its_activity_row() {
        let activity = ActivityId::from_parts(Timestamp::from_micros(1_700_000_000_000_000), [7; 10]);
        let about = DeliveryId::about(&activity);
        assert_eq!(about.as_str().strip_prefix("evt_"), activity.as_str().strip_prefix("act_"));
        assert_eq!(DeliveryId::parse(about.as_str()), Some(about));
    }

    #[test]
    fn base_32_matches_the_example_of_the_typeid_specification() {
        let uuid = 0x0189_0a5d_ac96_774b_bcce_b302_099a_8057_u128;
        assert_eq!(base32(uuid, 26), "01h455vb4pex5vsknk084sn02q");
    }

    #[test]
    fn uuids_have_the_version_and_variant_bits_of_the_rfc() {
        let uuid = uuid_v7(Timestamp::from_micros(0), [0xff; 10]);
        assert_eq!(uuid >> 76 & 0xf, 7);
        assert_eq!(uuid >> 62 & 0b11, 0b10);
    }

    #[test]
    fn usage_ids_sort_by_time() {
        let earlier = usage_id(Timestamp::from_micros(1_763_716_353_123_456));
        assert!(earlier.starts_with("use_") && earlier < usage_id(Timestamp::from_micros(1_763_716_353_123_457)));
    }
}
