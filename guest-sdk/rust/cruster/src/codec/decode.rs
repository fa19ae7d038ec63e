//! MessagePack for serde.
//!
//! It differs from the usual decoders in two ways. Nil reads as an empty list or
//! map: other languages write it for one that was never filled. And errors say
//! where in the value they are.
//!
//! A function that takes a visitor is compiled for each type of a module. So
//! those for structs know only what a struct can be made of, and leave the error
//! for anything else to code that is there once.

use serde::de::value::SeqDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::codec::error::DecodeError;
use crate::timestamp::EXTENSION;
use crate::wire::{Malformed, Reader};

/// Decodes the next value of a reader.
pub(crate) struct Decoder<'a, 'de>(pub(crate) &'a mut Reader<'de>);

type Decoded<T> = Result<T, DecodeError>;

impl<'de> Decoder<'_, 'de> {
    fn peek(&self) -> Decoded<u8> {
        Ok(self.0.peek().ok_or(Malformed("it ends early"))?)
    }

    /// Takes sixteen bytes, if they come next.
    fn wide(&mut self) -> Decoded<Option<[u8; 16]>> {
        match self.0.rest() {
            [0xc4, 16, ..] => Ok(self.0.bin()?.and_then(|b| b.try_into().ok())),
            _ => Ok(None),
        }
    }

    /// The error for a value that is no value of its type.
    fn unexpected(self, expected: &dyn Expected) -> DecodeError {
        match self.found() {
            Ok(found) => DecodeError::invalid_type(found, expected),
            Err(e) => e,
        }
    }

    /// What comes next, for an error.
    fn found(self) -> Decoded<Unexpected<'de>> {
        Ok(match self.peek()? {
            0xc0 => Unexpected::Unit,
            0xc2 | 0xc3 => Unexpected::Bool(self.0.bool()?),
            0xca | 0xcb => Unexpected::Float(self.0.float()?),
            0x00..=0x7f | 0xcc..=0xcf => Unexpected::Unsigned(self.0.int()? as u64),
            0xd0..=0xd3 | 0xe0.. => Unexpected::Signed(self.0.int()?),
            0xa0..=0xbf | 0xd9..=0xdb => Unexpected::Str(self.0.str()?),
            0xc4..=0xc6 => Unexpected::Bytes(self.0.bin()?.unwrap_or_default()),
            0xc7..=0xc9 | 0xd4..=0xd8 => Unexpected::NewtypeStruct,
            0x90..=0x9f | 0xdc | 0xdd => Unexpected::Seq,
            0x80..=0x8f | 0xde | 0xdf => Unexpected::Map,
            0xc1 => return Err(Malformed("a byte is no type").into()),
        })
    }

    fn visit_list<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        self.0.enter()?;
        let left = self.0.array()?;
        let mut elements = Elements {
            reader: &mut *self.0,
            left,
            at: 0,
        };
        let value = visitor.visit_seq(&mut elements)?;
        let left = elements.left;
        self.0.leave();
        if left > 0 {
            return Err(serde::de::Error::custom(format_args!(
                "{left} elements too many"
            )));
        }
        Ok(value)
    }

    fn visit_entries<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        self.0.enter()?;
        let left = self.0.map()?;
        let value = visitor.visit_map(Entries {
            reader: &mut *self.0,
            left,
            key: &[],
        })?;
        self.0.leave();
        Ok(value)
    }

    fn visit_extension<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        let (kind, data) = self.0.ext()?;
        visitor.visit_newtype_struct(Extension { kind, data })
    }
}

impl<'de> Deserializer<'de> for Decoder<'_, 'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.peek()? {
            0xc0 => {
                self.0.nil();
                visitor.visit_unit()
            }
            0xc2 | 0xc3 => visitor.visit_bool(self.0.bool()?),
            0xca => {
                self.0.head()?;
                visitor.visit_f32(f32::from_bits(self.0.unsigned(4)? as u32))
            }
            0xcb => visitor.visit_f64(self.0.float()?),
            0x00..=0x7f | 0xcc..=0xcf => visitor.visit_u64(self.0.int()? as u64),
            0xd0..=0xd3 | 0xe0.. => visitor.visit_i64(self.0.int()?),
            0xa0..=0xbf | 0xd9..=0xdb => visitor.visit_borrowed_str(self.0.str()?),
            0xc4..=0xc6 => visitor.visit_borrowed_bytes(self.0.bin()?.unwrap_or_default()),
            0xc7..=0xc9 | 0xd4..=0xd8 => self.visit_extension(visitor),
            0x90..=0x9f | 0xdc | 0xdd => self.visit_list(visitor),
            0x80..=0x8f | 0xde | 0xdf => self.visit_entries(visitor),
            0xc1 => Err(Malformed("a byte is no type").into()),
        }
    }

    /// MessagePack has no integers of this size: they are bytes.
    fn deserialize_i128<V: Visitor<'de>>(mut self, visitor: V) -> Decoded<V::Value> {
        match self.wide()? {
            Some(b) => visitor.visit_i128(i128::from_be_bytes(b)),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(mut self, visitor: V) -> Decoded<V::Value> {
        match self.wide()? {
            Some(b) => visitor.visit_u128(u128::from_be_bytes(b)),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        if self.0.nil() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.peek()? {
            0xc0 | 0x90..=0x9f | 0xdc | 0xdd => self.visit_list(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.peek()? {
            0xc0 | 0x80..=0x8f | 0xde | 0xdf => self.visit_entries(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        match self.peek()? {
            // Nil is a struct only if that has nothing in it.
            0xc0 if !fields.is_empty() => Err(self.unexpected(&visitor)),
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Decoded<V::Value> {
        match self.peek()? {
            0x80 | 0x90 => {
                self.0.head()?;
                visitor.visit_unit()
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Decoded<V::Value> {
        if name == EXTENSION {
            return self.deserialize_any(visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        match self.peek()? {
            0x80..=0x8f | 0xde | 0xdf => {
                self.0.enter()?;
                if self.0.map()? != 1 {
                    return Err(Malformed("a variant is a map of one entry").into());
                }
                let value = visitor.visit_enum(Variant(&mut *self.0))?;
                self.0.leave();
                Ok(value)
            }
            0xa0..=0xbf | 0xd9..=0xdb => visitor.visit_enum(self.0.str()?.into_deserializer()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        self.0.skip()?;
        visitor.visit_unit()
    }

    /// The name of a field or variant.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.peek()? {
            0xa0..=0xbf | 0xd9..=0xdb => visitor.visit_borrowed_str(self.0.str()?),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit
        tuple tuple_struct
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

struct Elements<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: usize,
    at: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Decoded<Option<T::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.at += 1;
        let at = self.at - 1;
        seed.deserialize(Decoder(self.reader))
            .map(Some)
            .map_err(|e| e.within(&format!("[{at}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

struct Entries<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: usize,
    /// Where the last key begins.
    key: &'de [u8],
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Decoded<Option<K::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.key = self.reader.rest();
        seed.deserialize(Decoder(self.reader)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Decoded<V::Value> {
        seed.deserialize(Decoder(self.reader))
            .map_err(|e| within_entry(e, self.key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The error of a value, with the name of its entry if that is a text.
fn within_entry(e: DecodeError, key: &[u8]) -> DecodeError {
    let mut reader = Reader::new(key);
    match reader.peek() {
        Some(0xa0..=0xbf | 0xd9..=0xdb) => {
            e.within(&format!(".{}", reader.str().unwrap_or_default()))
        }
        _ => e.within("[…]"),
    }
}

/// A variant that holds something: a map from its name to that.
struct Variant<'a, 'de>(&'a mut Reader<'de>);

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Decoded<(V::Value, Self)> {
        let name = seed.deserialize(Decoder(&mut *self.0))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = DecodeError;

    fn unit_variant(self) -> Decoded<()> {
        serde::Deserialize::deserialize(Decoder(self.0))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Decoded<T::Value> {
        seed.deserialize(Decoder(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Decoded<V::Value> {
        Decoder(self.0).deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        Decoder(self.0).deserialize_map(visitor)
    }
}

/// An extension, in the form in which serialisers see one: its type and payload.
#[derive(Clone, Copy)]
struct Extension<'de> {
    kind: i8,
    data: &'de [u8],
}

/// One of the two parts of an extension.
enum Part<'de> {
    Kind(i8),
    Data(&'de [u8]),
}

impl<'de> Deserializer<'de> for Extension<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        visitor.visit_seq(SeqDeserializer::new(
            [Part::Kind(self.kind), Part::Data(self.data)].into_iter(),
        ))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, DecodeError> for Part<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Part<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self {
            Part::Kind(kind) => visitor.visit_i8(kind),
            Part::Data(data) => visitor.visit_borrowed_bytes(data),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
