//! Rows of a query as values of a type.
//!
//! This is not the decoder of `codec`: databases disagree about types, so a cell makes every
//! conversion without loss.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::codes;
use crate::error::{Error, Result};
use crate::extension::{self, EXTENSION, EXTENSION_TIME};
use crate::timestamp::Timestamp;
use crate::value::Value;
use crate::wire::QueryReply;

/// Turns the rows of a reply into values.
pub(crate) fn decode<T: DeserializeOwned>(reply: QueryReply) -> Result<Vec<T>> {
    let mut out = Vec::with_capacity(reply.rows.len());
    for (i, values) in reply.rows.into_iter().enumerate() {
        if values.len() != reply.columns.len() {
            let message = format!(
                "row {} has {} values for {} columns",
                i + 1,
                values.len(),
                reply.columns.len()
            );
            return Err(Error::with_code(&codes::GUEST_PROTOCOL, message));
        }
        let row = Row {
            columns: &reply.columns,
            values,
        };
        out.push(T::deserialize(row).map_err(|e| misfit(&e, i + 1, &reply.columns))?);
    }
    Ok(out)
}

/// The error of a row that does not fit.
#[cold]
fn misfit(e: &Failure, row: usize, columns: &[String]) -> Error {
    let mut text = e.to_string();
    if let Some(field) = text.strip_prefix("missing field ") {
        text = format!(
            "field {field} has no column among {columns:?}: select it, or give the field #[serde(default)]"
        );
    }
    Error::message_only(text).context(format!("row {row}"))
}

type Failure = serde::de::value::Error;
type Decoded<T> = std::result::Result<T, Failure>;

fn failure(text: String) -> Failure {
    serde::de::Error::custom(text)
}

/// A row: a map for structs, a list for tuples, its one value for all else.
struct Row<'a> {
    columns: &'a [String],
    values: Vec<Value>,
}

impl<'a> Row<'a> {
    fn cells(self) -> impl Iterator<Item = Cell<'a>> {
        self.columns
            .iter()
            .zip(self.values)
            .map(|(column, value)| Cell { column, value })
    }

    fn only(self) -> Decoded<Cell<'a>> {
        let n = self.columns.len();
        let mut cells = self.cells();
        match (cells.next(), n) {
            (Some(cell), 1) => Ok(cell),
            _ => Err(failure(format!(
                "a row of {n} columns does not fit a single value: select one column, or use a struct or a tuple"
            ))),
        }
    }
}

macro_rules! by_the_only_value {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
            self.only()?.$method(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Row<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        let columns = self.columns;
        visitor.visit_map(MapDeserializer::new(
            columns.iter().map(String::as_str).zip(self.cells()),
        ))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        let mut seq = SeqDeserializer::new(self.cells());
        let value = visitor.visit_seq(&mut seq)?;
        seq.end()?;
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Decoded<V::Value> {
        if self.columns.len() != len {
            let n = self.columns.len();
            return Err(failure(format!(
                "a row of {n} columns does not fit a tuple of {len}"
            )));
        }
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Decoded<V::Value> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Decoded<V::Value> {
        if name == EXTENSION {
            return self.only()?.deserialize_newtype_struct(name, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        self.only()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Decoded<V::Value> {
        self.deserialize_map(visitor)
    }

    by_the_only_value! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// One value of a row, with the name of its column for messages.
struct Cell<'a> {
    column: &'a str,
    value: Value,
}

impl IntoDeserializer<'_, Failure> for Cell<'_> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl Cell<'_> {
    /// The error of a value that does not fit.
    fn misfit(&self, wanted: &str) -> Failure {
        if self.value == Value::Nil {
            return failure(format!(
                "column {:?} is NULL, which does not fit {wanted}: use an Option",
                self.column
            ));
        }
        let mut text: String = format!("{:?}", self.value).chars().take(41).collect();
        if text.chars().count() > 40 {
            text.pop();
            text.push('…');
        }
        failure(format!(
            "column {:?} holds {text}, which does not fit {wanted}",
            self.column
        ))
    }

    /// The value as an integer, if that loses nothing.
    fn int(&self) -> Option<i64> {
        match &self.value {
            Value::Int(n) => Some(*n),
            Value::Float32(f) => whole(f64::from(*f)),
            Value::Float(f) => whole(*f),
            Value::String(s) => s.parse().ok(),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        match &self.value {
            Value::Int(n) => Some(*n as f64),
            Value::Uint(n) => Some(*n as f64),
            Value::Float32(f) => Some(f64::from(*f)),
            Value::Float(f) => Some(*f),
            Value::String(s) => s.parse().ok(),
            _ => None,
        }
    }
}

fn whole(f: f64) -> Option<i64> {
    (f.fract() == 0.0 && f.abs() < (1u64 << 53) as f64).then_some(f as i64)
}

macro_rules! integers {
    ($($method:ident $ty:ident $visit:ident;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
            if let Value::Uint(n) = self.value {
                return $ty::try_from(n).map_err(|_| self.misfit(stringify!($ty))).and_then(|n| visitor.$visit(n));
            }
            match self.int().and_then(|n| $ty::try_from(n).ok()) {
                Some(n) => visitor.$visit(n),
                None => Err(self.misfit(stringify!($ty))),
            }
        })*
    };
}

macro_rules! floats {
    ($($method:ident $wanted:literal;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
            match self.float() {
                Some(f) => visitor.visit_f64(f),
                None => Err(self.misfit($wanted)),
            }
        })*
    };
}

macro_rules! texts {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
            match &self.value {
                Value::String(s) => visitor.visit_str(s),
                Value::Bytes(b) => match std::str::from_utf8(b) {
                    Ok(s) => visitor.visit_str(s),
                    Err(_) => Err(self.misfit("a text")),
                },
                _ => Err(self.misfit("a text")),
            }
        })*
    };
}

macro_rules! binaries {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
            match &self.value {
                Value::String(s) => visitor.visit_bytes(s.as_bytes()),
                Value::Bytes(b) => visitor.visit_bytes(b),
                Value::Nil => visitor.visit_bytes(&[]),
                _ => Err(self.misfit("bytes")),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Cell<'_> {
    type Error = Failure;

    /// The value as it is.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.value {
            Value::Nil => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(b),
            Value::Int(n) => visitor.visit_i64(n),
            Value::Uint(n) => visitor.visit_u64(n),
            Value::Float32(f) => visitor.visit_f32(f),
            Value::Float(f) => visitor.visit_f64(f),
            Value::String(s) => visitor.visit_string(s),
            Value::Bytes(b) => visitor.visit_byte_buf(b.into_vec()),
            Value::Time(t) => extension::visit(EXTENSION_TIME, &t.to_extension(), visitor),
            Value::Extension(kind, data) => extension::visit(kind, &data, visitor),
            Value::List(_) | Value::Map(_) => Err(self.misfit("a column")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.value {
            Value::Nil => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match (&self.value, self.int()) {
            (Value::Bool(b), _) => visitor.visit_bool(*b),
            (_, Some(n @ 0..=1)) => visitor.visit_bool(n == 1),
            _ => Err(self.misfit("bool")),
        }
    }

    /// Times may come as text; all other newtypes are read as their content.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Decoded<V::Value> {
        if name != EXTENSION {
            return visitor.visit_newtype_struct(self);
        }
        match &self.value {
            Value::Time(t) => extension::visit(EXTENSION_TIME, &t.to_extension(), visitor),
            Value::String(s) => match s.parse::<Timestamp>() {
                Ok(t) => extension::visit(EXTENSION_TIME, &t.to_extension(), visitor),
                Err(_) => Err(self.misfit("a time")),
            },
            _ => Err(self.misfit("a time")),
        }
    }

    /// Enums of units are texts.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        match &self.value {
            Value::String(s) => visitor.visit_enum(s.as_str().into_deserializer()),
            _ => Err(self.misfit("the name of a variant")),
        }
    }

    integers! {
        deserialize_i8 i8 visit_i8;
        deserialize_i16 i16 visit_i16;
        deserialize_i32 i32 visit_i32;
        deserialize_i64 i64 visit_i64;
        deserialize_u8 u8 visit_u8;
        deserialize_u16 u16 visit_u16;
        deserialize_u32 u32 visit_u32;
        deserialize_u64 u64 visit_u64;
    }
    floats! {
        deserialize_f32 "f32";
        deserialize_f64 "f64";
    }
    texts! { deserialize_char deserialize_str deserialize_string deserialize_identifier }
    binaries! { deserialize_bytes deserialize_byte_buf }

    forward_to_deserialize_any! {
        i128 u128 unit unit_struct seq tuple tuple_struct map struct ignored_any
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}
