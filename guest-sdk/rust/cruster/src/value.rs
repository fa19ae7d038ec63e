//! Values whose type is not known.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bytes::Bytes;
use crate::extension::{EXTENSION, EXTENSION_TIME, Extension};
use crate::timestamp::Timestamp;

/// A value of any type: a column of a database, or a part of a request that has no
/// fixed shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Value {
    /// Nothing; NULL in a database.
    #[default]
    Nil,
    /// true or false.
    Bool(bool),
    /// An integer, if it fits.
    Int(i64),
    /// An integer above the largest [`Value::Int`].
    Uint(u64),
    /// A number of 32 bits.
    Float32(f32),
    /// A number of 64 bits.
    Float(f64),
    /// A text.
    String(String),
    /// Bytes.
    Bytes(Bytes),
    /// A point in time.
    Time(Timestamp),
    /// A list.
    List(Vec<Value>),
    /// A map, in the order of its entries.
    Map(Vec<(Value, Value)>),
    /// An extension that is not a time, or a time that [`Timestamp`] cannot hold: its
    /// type and payload.
    Extension(i8, Bytes),
}

macro_rules! value_from {
    ($($ty:ty => $make:expr;)*) => {
        $(impl From<$ty> for Value {
            fn from(v: $ty) -> Value {
                #[allow(clippy::redundant_closure_call)]
                ($make)(v)
            }
        })*
    };
}

value_from! {
    () => |()| Value::Nil;
    bool => Value::Bool;
    i8 => |v| Value::Int(i64::from(v));
    i16 => |v| Value::Int(i64::from(v));
    i32 => |v| Value::Int(i64::from(v));
    i64 => Value::Int;
    isize => |v| Value::Int(v as i64);
    u8 => |v| Value::Int(i64::from(v));
    u16 => |v| Value::Int(i64::from(v));
    u32 => |v| Value::Int(i64::from(v));
    u64 => |v: u64| i64::try_from(v).map_or(Value::Uint(v), Value::Int);
    usize => |v| Value::from(v as u64);
    f32 => |v| Value::Float(f64::from(v));
    f64 => Value::Float;
    String => Value::String;
    &str => |v: &str| Value::String(v.to_owned());
    char => |v: char| Value::String(v.to_string());
    Bytes => Value::Bytes;
    Vec<u8> => |v| Value::Bytes(Bytes(v));
    &[u8] => |v: &[u8]| Value::Bytes(v.into());
    Timestamp => Value::Time;
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Value {
        v.map_or(Value::Nil, Into::into)
    }
}

/// Parameters of statements may be references, which are cloned.
impl<T: Clone + Into<Value>> From<&T> for Value {
    fn from(v: &T) -> Value {
        v.clone().into()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Nil => s.serialize_unit(),
            Value::Bool(v) => s.serialize_bool(*v),
            Value::Int(v) => s.serialize_i64(*v),
            Value::Uint(v) => s.serialize_u64(*v),
            Value::Float32(v) => s.serialize_f32(*v),
            Value::Float(v) => s.serialize_f64(*v),
            Value::String(v) => s.serialize_str(v),
            Value::Bytes(v) => v.serialize(s),
            Value::Time(v) => v.serialize(s),
            Value::List(list) => {
                let mut seq = s.serialize_seq(Some(list.len()))?;
                for v in list {
                    seq.serialize_element(v)?;
                }
                seq.end()
            }
            Value::Map(entries) => {
                let mut map = s.serialize_map(Some(entries.len()))?;
                for (k, v) in entries {
                    map.serialize_entry(k, v)?;
                }
                map.end()
            }
            Value::Extension(kind, data) => s.serialize_newtype_struct(EXTENSION, &(*kind, data)),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        Value::deserialize(d)
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Int(v))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f32<E>(self, v: f32) -> Result<Value, E> {
        Ok(Value::Float32(v))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(Value::Float(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(Value::String(v))
    }

    fn visit_bytes<E>(self, v: &[u8]) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        let (kind, data) = Extension::deserialize(d)?;
        Ok(Value::of_extension(kind, data))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(v) = seq.next_element()? {
            list.push(v);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

impl Value {
    /// A time that [`Timestamp`] cannot hold stays an extension, so that a value that is
    /// only passed on loses nothing.
    pub(crate) fn of_extension(kind: i8, data: Bytes) -> Value {
        match Timestamp::from_extension(&data) {
            Some(time) if kind == EXTENSION_TIME => Value::Time(time),
            _ => Value::Extension(kind, data),
        }
    }
}
