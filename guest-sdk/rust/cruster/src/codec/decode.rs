//! MessagePack for serde.
//!
//! It differs from the usual decoders in three ways. An empty map reads as nothing. Nil reads as an
//! empty list or map, because other languages write nil for one never filled. And errors say where
//! in the value they are.
//!
//! A function that takes a visitor is compiled once for each type of a module. To keep modules
//! small, the ones for structs accept only a map, and build the error for anything else in code
//! that is not generic.

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::codec::error::DecodeError;
use crate::extension::{self, EXTENSION};
use crate::wire::{Malformed, Reader, Token, utf8};

/// Decodes the next value of a reader.
pub(crate) struct Decoder<'a, 'de>(pub(crate) &'a mut Reader<'de>);

type Decoded<T> = Result<T, DecodeError>;

impl<'de> Decoder<'_, 'de> {
    fn visit<V: Visitor<'de>>(self, token: Token<'de>, visitor: V) -> Decoded<V::Value> {
        match token {
            Token::Nil => visitor.visit_unit(),
            Token::Bool(b) => visitor.visit_bool(b),
            Token::Int(n) => visitor.visit_i64(n),
            Token::Uint(n) => visitor.visit_u64(n),
            Token::Float32(f) => visitor.visit_f32(f),
            Token::Float(f) => visitor.visit_f64(f),
            Token::Str(b) => visitor.visit_borrowed_str(utf8(b)?),
            Token::Bin(b) => visitor.visit_borrowed_bytes(b),
            Token::Ext(kind, data) => extension::visit(kind, data, visitor),
            Token::Array(n) => self.visit_list(n, visitor),
            Token::Map(n) => self.visit_entries(n, visitor),
        }
    }

    fn visit_list<V: Visitor<'de>>(self, n: usize, visitor: V) -> Decoded<V::Value> {
        self.0.enter()?;
        let mut elements = Elements {
            reader: &mut *self.0,
            left: n,
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

    fn visit_entries<V: Visitor<'de>>(self, n: usize, visitor: V) -> Decoded<V::Value> {
        self.0.enter()?;
        let value = visitor.visit_map(Entries {
            reader: &mut *self.0,
            left: n,
            key: &[],
        })?;
        self.0.leave();
        Ok(value)
    }
}

/// The error for a token that its type does not take.
fn unexpected(found: Token<'_>, expected: &dyn Expected) -> DecodeError {
    let found = match found {
        Token::Nil => Unexpected::Unit,
        Token::Bool(b) => Unexpected::Bool(b),
        Token::Int(n) => Unexpected::Signed(n),
        Token::Uint(n) => Unexpected::Unsigned(n),
        Token::Float32(f) => Unexpected::Float(f64::from(f)),
        Token::Float(f) => Unexpected::Float(f),
        Token::Str(b) => match utf8(b) {
            Ok(s) => Unexpected::Str(s),
            Err(e) => return e.into(),
        },
        Token::Bin(b) => Unexpected::Bytes(b),
        Token::Ext(..) => Unexpected::NewtypeStruct,
        Token::Array(_) => Unexpected::Seq,
        Token::Map(_) => Unexpected::Map,
    };
    DecodeError::invalid_type(found, expected)
}

impl<'de> Deserializer<'de> for Decoder<'_, 'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        let token = self.0.next()?;
        self.visit(token, visitor)
    }

    /// MessagePack has no integers of this size: they are bytes.
    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.0.next()? {
            Token::Bin(b) if b.len() == 16 => visitor.visit_i128(wide(b) as i128),
            token => self.visit(token, visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.0.next()? {
            Token::Bin(b) if b.len() == 16 => visitor.visit_u128(wide(b)),
            token => self.visit(token, visitor),
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
        match self.0.next()? {
            Token::Nil => self.visit_list(0, visitor),
            Token::Array(n) => self.visit_list(n, visitor),
            token => Err(unexpected(token, &visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.0.next()? {
            Token::Nil => self.visit_entries(0, visitor),
            Token::Map(n) => self.visit_entries(n, visitor),
            token => Err(unexpected(token, &visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        // Nil is a struct only if that has no fields.
        if !fields.is_empty() && self.0.nil() {
            return Err(unexpected(Token::Nil, &visitor));
        }
        self.deserialize_map(visitor)
    }

    /// Nothing is an empty map, and nil where there is no type to tell.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.0.next()? {
            Token::Map(0) => visitor.visit_unit(),
            token => self.visit(token, visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Decoded<V::Value> {
        match self.0.next()? {
            Token::Array(0) | Token::Map(0) => visitor.visit_unit(),
            token => self.visit(token, visitor),
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
        match self.0.next()? {
            Token::Map(1) => {
                self.0.enter()?;
                let value = visitor.visit_enum(Variant(&mut *self.0))?;
                self.0.leave();
                Ok(value)
            }
            Token::Map(_) => Err(Malformed("a variant is a map of one entry").into()),
            Token::Str(b) => visitor.visit_enum(utf8(b)?.into_deserializer()),
            token => self.visit(token, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        self.0.skip()?;
        visitor.visit_unit()
    }

    /// The name of a field or variant.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match self.0.next()? {
            Token::Str(b) => visitor.visit_borrowed_str(utf8(b)?),
            token => Err(unexpected(token, &visitor)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf
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
    match Reader::new(key).next() {
        Ok(Token::Str(name)) => e.within(&format!(".{}", utf8(name).unwrap_or_default())),
        _ => e.within("[…]"),
    }
}

/// The sixteen bytes of a wide integer as a number.
fn wide(b: &[u8]) -> u128 {
    b.iter().fold(0, |n, b| (n << 8) | u128::from(*b))
}

/// A variant with content: a map with one entry, from its name to the content.
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
