//! What an answer tells besides: members of the request that were ignored.

use serde_json::{Map, Value};

use super::Reply;
use crate::http::server::unknown::UnknownMembers;

const WARNINGS: &str = "warnings";

impl Reply {
    /// The same with an entry in `warnings` for each unknown member of the request, behind those that are there. An answer
    /// to a request without any, a refusal, and what is no JSON object stay as they are, to the byte.
    pub(in crate::http) fn with_unknown(self, unknown: &UnknownMembers) -> Self {
        let warnings = unknown.warnings();
        if warnings.is_empty() || !self.status.is_success() || self.file.is_some() {
            return self;
        }
        let Ok(mut members) = serde_json::from_slice::<Map<String, Value>>(&self.body) else { return self };
        match members.get_mut(WARNINGS) {
            Some(Value::Array(known)) => known.extend(warnings),
            Some(_) => return self,
            None => drop(members.insert(WARNINGS.to_owned(), Value::Array(warnings))),
        }
        Self { body: super::encode(&members), ..self }
    }
}
