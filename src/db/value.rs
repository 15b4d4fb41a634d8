//! Values: the contents of columns and of parameters. Both engines translate their own types to these five kinds, so
//! the layer above names no driver.

use std::borrow::Cow;

/// A value that a row or the caller owns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ValueRef<'a> {
    Null,
    /// Also a boolean, as 0 or 1.
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl ValueRef<'_> {
    /// Returns the kind of the value in words, for error messages. Never returns the value, which may be personal data.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a floating-point number",
            Self::Text(_) => "a string",
            Self::Blob(_) => "bytes",
        }
    }
}

/// An owned value, for the parameters of statements that are assembled at run time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    #[cfg(feature = "postgres")]
    Blob(Vec<u8>),
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Integer(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A type that a column can be read as.
pub(crate) trait ColumnType: Sized {
    /// Converts the value of a column. Returns `None` if the column contains another kind of value, or a value outside
    /// the range of the type.
    fn from_value(value: ValueRef<'_>) -> Option<Self>;
}

impl ColumnType for i64 {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        if let ValueRef::Integer(number) = value { Some(number) } else { None }
    }
}

impl ColumnType for bool {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl ColumnType for f64 {
    #[expect(clippy::cast_precision_loss, reason = "a real column may contain a whole number as an integer")]
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Real(number) => Some(number),
            ValueRef::Integer(number) => Some(number as Self),
            _ => None,
        }
    }
}

impl ColumnType for String {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        if let ValueRef::Text(text) = value { Some(text.to_owned()) } else { None }
    }
}

impl ColumnType for Vec<u8> {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        if let ValueRef::Blob(bytes) = value { Some(bytes.to_owned()) } else { None }
    }
}

impl<const N: usize> ColumnType for [u8; N] {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        if let ValueRef::Blob(bytes) = value { bytes.try_into().ok() } else { None }
    }
}

impl<T: ColumnType> ColumnType for Option<T> {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        if value == ValueRef::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}

/// A type that a parameter can have.
pub(crate) trait Param {
    fn to_value(&self) -> ValueRef<'_>;
}

impl Param for bool {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Integer((*self).into())
    }
}

impl Param for f64 {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Real(*self)
    }
}

impl Param for str {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}

impl Param for String {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}

impl Param for Cow<'_, str> {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}

impl Param for [u8] {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Blob(self)
    }
}

impl Param for Vec<u8> {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Blob(self)
    }
}

impl<const N: usize> Param for [u8; N] {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Blob(self)
    }
}

impl Param for Value {
    fn to_value(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text),
            #[cfg(feature = "postgres")]
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }
    }
}

impl<T: Param> Param for Option<T> {
    fn to_value(&self) -> ValueRef<'_> {
        self.as_ref().map_or(ValueRef::Null, Param::to_value)
    }
}

impl<T: Param + ?Sized> Param for &T {
    fn to_value(&self) -> ValueRef<'_> {
        (**self).to_value()
    }
}

/// Implements [`Param`] for the integer types whose values all fit into an `i64`.
macro_rules! integers {
    ($($column:ty)*) => {$(
        impl Param for $column {
            fn to_value(&self) -> ValueRef<'_> {
                ValueRef::Integer((*self).into())
            }
        }
    )*};
}
integers!(i64 i32 u32 u16 u8);

/// Implements [`ColumnType`] and the conversion into [`Value`] for integer types that are narrower than a column.
macro_rules! narrow_integers {
    ($($column:ty)*) => {$(
        impl From<$column> for Value {
            fn from(value: $column) -> Self {
                Self::Integer(value.into())
            }
        }

        impl ColumnType for $column {
            fn from_value(value: ValueRef<'_>) -> Option<Self> {
                i64::from_value(value)?.try_into().ok()
            }
        }
    )*};
}
narrow_integers!(u32 u16 u8);
