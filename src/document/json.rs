//! JSON read strictly: UTF-8, one value, and no member of an object twice, at any depth.
//!
//! Two members of one name are read differently by different programs, so a decision must not rest on them.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads one JSON value (RFC 8259).
///
/// # Errors
/// A sentence with line and column, for whoever wrote the text.
pub fn parse(bytes: &[u8]) -> Result<Value, String> {
    parse_with(Strict, bytes)
}

/// An amount, which is far below what an `i64` holds, as a JSON number: 65000 and not 65000.0. `None` for one that is
/// not finite.
pub fn number(amount: f64) -> Option<Number> {
    if amount.fract() == 0.0 { Some(Number::from(amount as i64)) } else { Number::from_f64(amount) }
}

/// Reads one JSON value into what the seed makes of it.
///
/// # Errors
/// As [`parse`].
pub(super) fn parse_with<'de, S: DeserializeSeed<'de>>(seed: S, bytes: &'de [u8]) -> Result<S::Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Reads any value, with no member of an object twice.
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
                return Err(de::Error::custom(format!("the member {name:?} is there twice")));
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
    fn what_serde_json_reads_is_read_the_same() {
        for text in [r#"{"a":[1,-2,3.5,1e3,null,true,"x\u00e4"],"b":{}}"#, "[]", "7", "null", "18446744073709551615"] {
            assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn broken_text_and_doubled_members_are_refused_with_their_place() {
        for text in ["", "{", "{}{}", "{\"a\":1,}", "[1 2]", "'a'", "\u{feff}{}", "nul", "1e999", "\"\\ud800\""] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"{\"a\":\"\xff\"}").unwrap_err().contains("byte 6"));
        let twice = parse(br#"{"x":[{"a":1,"a":1}]}"#).unwrap_err();
        assert!(twice.contains("\"a\" is there twice") && twice.contains("line 1"), "{twice}");
        assert!(parse("[".repeat(100_000).as_bytes()).is_err(), "depth is bounded");
    }
}
