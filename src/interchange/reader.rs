//! A streaming parser for interchange documents. It holds the members of an object as JSON until the typed object is
//! created, and parses arrays of objects item by item. Therefore, the JSON values of a large document are never all in
//! memory at once. The parser does not stop at the first finding: it collects the findings of the whole document.
//!
//! The parser knows how objects and arrays nest, but does not interpret their members.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::context::Context;
use super::fields::Fields;
use super::findings::Pointer;
use super::json::{self, Strict};

/// A type that is created from an object in the document.
pub(super) trait Object: Sized {
    /// The names of all members, in the order of an export.
    const MEMBERS: &'static [&'static str];

    /// The members that are arrays of objects: a type that [`arrays`] defines, or `()` if there are none.
    type Arrays: Arrays;

    /// Prepares the context for the members. The parser calls this function before it parses the first member.
    fn enter(_context: &mut Context<'_>) {}

    /// Creates the value from its members. Adds findings and returns `None` if a member is invalid.
    fn read(fields: Fields<'_, '_>, arrays: Self::Arrays) -> Option<Self>;
}

/// The members of an object that are arrays of objects.
pub(super) trait Arrays: Default {
    /// Parses a member if it is one of these arrays. Returns false for any other member, without reading its value.
    ///
    /// # Errors
    /// Fails only on text that is not strict JSON ([`json`]).
    fn parse<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        at: Pointer<'_>,
        context: &mut Context<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error>;
}

impl Arrays for () {
    fn parse<'de, A: MapAccess<'de>>(
        &mut self,
        _: &str,
        _: Pointer<'_>,
        _: &mut Context<'_>,
        _: &mut A,
    ) -> Result<bool, A::Error> {
        Ok(false)
    }
}

/// Defines a type that implements [`Arrays`] and has a field for each member. The field is `None` until the member is
/// parsed.
macro_rules! arrays {
    ($name:ident { $($member:ident: $item:ty),+ }) => {
        #[derive(Default)]
        pub(super) struct $name {
            $($member: Option<$crate::interchange::reader::Array<$item>>),+
        }

        impl $crate::interchange::reader::Arrays for $name {
            fn parse<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                name: &str,
                at: $crate::interchange::findings::Pointer<'_>,
                context: &mut $crate::interchange::context::Context<'_>,
                members: &mut A,
            ) -> Result<bool, A::Error> {
                match name {
                    $(stringify!($member) => self.$member = $crate::interchange::reader::array(at, context, members)?,)+
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

pub(super) use arrays;

/// A parsed array.
pub(super) struct Array<T> {
    /// The valid items.
    pub(super) items: Vec<T>,
    /// True if all items were valid. An index in `items` is then the index in the document.
    pub(super) complete: bool,
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Self { items: Vec::new(), complete: true }
    }
}

/// Parses a whole document, and adds a finding for each error. The returned document is complete only if there are no
/// findings.
///
/// # Errors
/// A sentence with the position of the error if the text is not strict JSON ([`json`]).
pub(super) fn read<T: Object>(bytes: &[u8], context: &mut Context<'_>) -> Result<Option<T>, String> {
    json::parse_with(ObjectSeed { at: Pointer::ROOT, context, marker: PhantomData }, bytes)
}

/// Parses the value of a member as an array of objects. Returns `None` if the value is null.
///
/// # Errors
/// Fails only on text that is not strict JSON ([`json`]). A value of another type is a finding.
pub(super) fn array<'de, T: Object, A: MapAccess<'de>>(
    at: Pointer<'_>,
    context: &mut Context<'_>,
    members: &mut A,
) -> Result<Option<Array<T>>, A::Error> {
    members.next_value_seed(ArraySeed { at, context, marker: PhantomData })
}

/// A seed that parses one object.
struct ObjectSeed<'a, 'w, T> {
    at: Pointer<'a>,
    context: &'a mut Context<'w>,
    marker: PhantomData<T>,
}

/// A seed that parses an array of objects.
struct ArraySeed<'a, 'w, T> {
    at: Pointer<'a>,
    context: &'a mut Context<'w>,
    marker: PhantomData<T>,
}

/// Defines the methods that visit a scalar value where an object or an array is required. The value is a finding, not
/// a syntax error.
macro_rules! refuse_scalars {
    () => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(self.refuse())
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(self.refuse())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(self.refuse())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(self.refuse())
        }

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(self.refuse())
        }
    };
}

impl<'de, T: Object> DeserializeSeed<'de> for ObjectSeed<'_, '_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<T: Object> ObjectSeed<'_, '_, T> {
    fn refuse(self) -> Option<T> {
        self.context.findings.push(self.at, "must be an object");
        None
    }

    /// Parses a member into `arrays` if it is one of the type's arrays of objects, and otherwise into `own`, for
    /// [`Object::read`]. For an array, `own` gets a null, so that a duplicate member is detected.
    fn member<'de, A: MapAccess<'de>>(
        &mut self,
        name: String,
        arrays: &mut T::Arrays,
        own: &mut Map<String, Value>,
        members: &mut A,
    ) -> Result<(), A::Error> {
        let at = self.at.member(&name);
        if own.contains_key(&name) {
            self.context.findings.push(at, "appears twice in its object");
            members.next_value_seed(Strict)?;
            return Ok(());
        }
        if !T::MEMBERS.contains(&name.as_str()) {
            self.context.findings.push(at, format!("unknown member; the known members are {}", T::MEMBERS.join(", ")));
        }
        let is_array = arrays.parse(&name, at, self.context, members)?;
        let value = if is_array { Value::Null } else { members.next_value_seed(Strict)? };
        own.insert(name, value);
        Ok(())
    }
}

impl<'de, T: Object> Visitor<'de> for ObjectSeed<'_, '_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    refuse_scalars!();

    fn visit_unit<E>(self) -> Result<Option<T>, E> {
        Ok(self.refuse())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Option<T>, A::Error> {
        while items.next_element_seed(Strict)?.is_some() {}
        Ok(self.refuse())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Option<T>, A::Error> {
        T::enter(self.context);
        let mut arrays = T::Arrays::default();
        let mut own = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            self.member(name, &mut arrays, &mut own, &mut members)?;
        }
        Ok(T::read(Fields::new(self.at, own, self.context), arrays))
    }
}

impl<'de, T: Object> DeserializeSeed<'de> for ArraySeed<'_, '_, T> {
    type Value = Option<Array<T>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Array<T>>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<T: Object> ArraySeed<'_, '_, T> {
    fn refuse(self) -> Option<Array<T>> {
        self.context.findings.push(self.at, "must be an array of objects");
        Some(Array { items: Vec::new(), complete: false })
    }
}

impl<'de, T: Object> Visitor<'de> for ArraySeed<'_, '_, T> {
    type Value = Option<Array<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    refuse_scalars!();

    fn visit_unit<E>(self) -> Result<Option<Array<T>>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Option<Array<T>>, A::Error> {
        let mut array = Array::default();
        for index in 0.. {
            let seed = ObjectSeed { at: self.at.item(index), context: &mut *self.context, marker: PhantomData };
            match items.next_element_seed(seed)? {
                None => break,
                Some(Some(item)) => array.items.push(item),
                Some(None) => array.complete = false,
            }
        }
        Ok(Some(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<Array<T>>, A::Error> {
        while members.next_key::<String>()?.is_some() {
            members.next_value_seed(Strict)?;
        }
        Ok(self.refuse())
    }
}
