//! Adds warnings about ignored members of the request to its reply.

use serde_json::{Map, Value};

use super::Reply;
use crate::http::server::unknown_members::UnknownMembers;

const WARNINGS: &str = "warnings";

impl Reply {
    /// Appends to the reply's `warnings` the entries about the unknown members of the request. The reply stays
    /// unchanged, byte for byte, if the request has no unknown member, if the status is not a success, if the reply is
    /// not a JSON object, or if its `warnings` is not an array.
    pub(in crate::http::server) fn with_unknown_member_warnings(self, unknown_members: &UnknownMembers) -> Self {
        let warnings = unknown_members.warnings();
        if warnings.is_empty() || !self.status.is_success() || self.file.is_some() {
            return self;
        }
        let Ok(mut members) = serde_json::from_slice::<Map<String, Value>>(&self.body) else { return self };
        match members.get_mut(WARNINGS) {
            Some(Value::Array(present)) => present.extend(warnings),
            Some(_) => return self,
            None => drop(members.insert(WARNINGS.to_owned(), Value::Array(warnings))),
        }
        Self { body: super::encode(&members), ..self }
    }
}
