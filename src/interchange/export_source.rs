//! The state that all parts of an export share, and arrays that are read from the database when they are written.

use std::cell::RefCell;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::json;
use crate::store::{Error, Tx};

/// Whether the document includes the secrets of HR integrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// The document includes the secrets. Anyone who has the document can sign deliveries.
    Included,
    /// The document omits the secrets. An import of the document disables the integrations.
    LeftOut,
}

/// The state of an export.
pub(super) struct ExportSource<'t> {
    pub(super) tx: &'t Tx<'t>,
    pub(super) secrets: Secrets,
    /// The error of the store, if there was one. A serde error would contain only its text.
    pub(super) failed: RefCell<Option<Error>>,
    /// A sentence for each value that was left out because an import would refuse it.
    pub(super) notices: RefCell<Vec<String>>,
}

impl<'t> ExportSource<'t> {
    pub(super) fn new(tx: &'t Tx<'t>, secrets: Secrets) -> Self {
        Self { tx, secrets, failed: RefCell::new(None), notices: RefCell::default() }
    }

    /// Returns an array that `read` loads when the array is written. `convert` turns each record into an item.
    pub(super) fn array<R, T>(
        &'t self,
        read: impl Fn() -> Result<Vec<R>, Error> + 't,
        convert: fn(&'t Self, R) -> Result<T, Error>,
    ) -> LazyArray<'t, R, T> {
        LazyArray { source: self, read: Box::new(read), convert }
    }

    fn fail<E: serde::ser::Error>(&self, error: Error) -> E {
        let text = error.to_string();
        self.failed.replace(Some(error));
        E::custom(text)
    }

    /// Returns the value of a column whose JSON a caller has chosen. If the value is nested more deeply than an import
    /// allows, returns an empty object instead, and adds a notice.
    pub(super) fn json_column(&self, owner: &str, members: &Map<String, Value>) -> Value {
        let value = Value::Object(members.clone());
        if json::is_deeper(&value, 0) {
            let notice = format!("not in the document: {owner} (nested more than {} levels deep)", json::DEPTH_MAX);
            self.notices.borrow_mut().push(notice);
            return Value::Object(Map::new());
        }
        value
    }
}

/// An array that is read from the database when it is written.
pub(super) struct LazyArray<'s, R, T> {
    source: &'s ExportSource<'s>,
    read: Box<dyn Fn() -> Result<Vec<R>, Error> + 's>,
    convert: fn(&'s ExportSource<'s>, R) -> Result<T, Error>,
}

impl<R, T: Serialize> Serialize for LazyArray<'_, R, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let records = (self.read)().map_err(|error| self.source.fail::<S::Error>(error))?;
        let mut array = serializer.serialize_seq(Some(records.len()))?;
        for record in records {
            let item = (self.convert)(self.source, record).map_err(|error| self.source.fail::<S::Error>(error))?;
            array.serialize_element(&item)?;
        }
        array.end()
    }
}
