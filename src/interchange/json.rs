//! Strict JSON: UTF-8, one value, and no duplicate members at any depth.
//!
//! Programs disagree on how to read two members with the same name, so duplicate members are refused.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::domain::plain::{self, Flaw};

/// Reads one JSON value (RFC 8259).
///
/// # Errors
/// A sentence for the author of the JSON, with the line and column, or with the byte offset of invalid UTF-8.
pub fn parse(bytes: &[u8]) -> Result<Value, String> {
    parse_with(Strict, bytes)
}

/// Returns an amount as a JSON number: 65000 rather than 65000.0. Returns `None` if the amount is not finite. A whole
/// amount fits into an `i64`, because amounts are far below `i64::MAX`.
pub fn number(amount: f64) -> Option<Number> {
    if amount.fract() == 0.0 { Some(Number::from(amount as i64)) } else { Number::from_f64(amount) }
}

/// The maximum nesting depth of stored JSON. Rich-text editors nest descriptions less than half as deeply. Many JSON
/// parsers stop at 128 levels, and responses wrap the stored value in further objects.
pub const DEPTH_MAX: usize = 32;

/// Returns the reason why a JSON value from a caller cannot be stored: the value is nested too deeply, or one of its
/// strings or member names contains a control character other than a tab, CR or LF.
pub fn flaw(value: &Value) -> Option<String> {
    flaw_within(value, 0)
}

/// Returns the reason why a value cannot be stored at depth `depth` inside a larger value.
pub fn flaw_within(value: &Value, depth: usize) -> Option<String> {
    if is_deeper(value, depth) {
        return Some(format!("must be nested at most {DEPTH_MAX} levels deep"));
    }
    flaw_of_text(value).map(Flaw::sentence)
}

/// Returns whether a value at `depth` exceeds [`DEPTH_MAX`]. Earlier versions may have stored such values.
pub fn is_deeper(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth >= DEPTH_MAX || items.iter().any(|item| is_deeper(item, depth + 1)),
        Value::Object(members) => depth >= DEPTH_MAX || members.values().any(|member| is_deeper(member, depth + 1)),
        _ => false,
    }
}

fn flaw_of_text(value: &Value) -> Option<Flaw> {
    match value {
        Value::String(text) => plain::flaw_of_lines(text),
        Value::Array(items) => items.iter().find_map(flaw_of_text),
        Value::Object(members) => {
            members.iter().find_map(|(name, member)| plain::flaw_of_lines(name).or_else(|| flaw_of_text(member)))
        }
        _ => None,
    }
}

/// Parses one JSON value with a seed.
///
/// # Errors
/// The errors of [`parse`].
pub(super) fn parse_with<'de, S: DeserializeSeed<'de>>(seed: S, bytes: &'de [u8]) -> Result<S::Value, String> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| format!("byte {} is not valid UTF-8", error.valid_up_to()))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// A seed for any value without duplicate members.
pub(super) struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(Strict)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(de::Error::custom(format!("the member {name:?} appears twice")));
            }
            let value = members.next_value_seed(Strict)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_json_parses_to_the_same_value_as_with_serde_json() {
        for text in [r#"{"a":[1,-2,3.5,1e3,null,true,"x\u00e4"],"b":{}}"#, "[]", "7", "null", "18446744073709551615"] {
            assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn stored_json_is_at_most_32_levels_deep_and_has_no_control_characters_except_tabs_and_line_breaks() {
        let nested = |depth: usize| (1..depth).fold(Value::Array(Vec::new()), |inner, _| Value::Array(vec![inner]));
        assert_eq!(flaw(&nested(DEPTH_MAX)), None);
        assert_eq!(flaw(&nested(DEPTH_MAX + 1)).unwrap(), "must be nested at most 32 levels deep");
        assert_eq!(flaw_within(&nested(DEPTH_MAX), 1).unwrap(), "must be nested at most 32 levels deep");
        for (text, is_plain) in [(r#"{"a\tb":"c\r\nd"}"#, true), (r#"["\u0000"]"#, false), (r#"{"\u001b":1}"#, false)] {
            assert_eq!(flaw(&serde_json::from_str(text).unwrap()).is_none(), is_plain, "{text}");
        }
    }

    #[test]
    fn invalid_text_and_duplicate_members_are_refused_with_their_location() {
        for text in ["", "{", "{}{}", "{\"a\":1,}", "[1 2]", "'a'", "\u{feff}{}", "nul", "1e999", "\"\\ud800\""] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"{\"a\":\"\xff\"}").unwrap_err().contains("byte 6"));
        let twice = parse(br#"{"x":[{"a":1,"a":1}]}"#).unwrap_err();
        assert!(twice.contains("\"a\" appears twice") && twice.contains("line 1"), "{twice}");
        assert!(parse("[".repeat(100_000).as_bytes()).is_err(), "depth is bounded");
    }
}
