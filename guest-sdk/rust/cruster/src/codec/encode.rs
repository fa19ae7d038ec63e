//! MessagePack for serde, in shortest form, with structs as maps.
//!
//! A struct without fields is an empty map, however it is written, and so is the unit type
//! where it is all of the value. Inside of another value the unit type is nil, because
//! libraries write their own nulls in that way.

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use crate::codec::error::BadValue;
use crate::extension::EXTENSION;
use crate::wire::{
    Reader, Token, Wire, put_array, put_bin, put_ext, put_int, put_map, put_str, put_uint,
};

/// Encodes values at the end of a vector.
pub(crate) struct Encoder<'a>(pub(crate) &'a mut Vec<u8>);

type Encoded<T = ()> = Result<T, BadValue>;

impl<'a> Encoder<'a> {
    /// The encoding of a value without content.
    pub(crate) fn nothing() -> Vec<u8> {
        let mut out = Vec::new();
        put_map(&mut out, 0);
        out
    }

    /// The name of a variant, as the key of a map of one entry.
    fn variant(self, name: &str) -> Self {
        put_map(self.0, 1);
        put_str(self.0, name);
        self
    }

    fn list(self, n: Option<usize>) -> Many<'a> {
        Many::new(self.0, n, put_array)
    }

    fn map(self, n: Option<usize>) -> Many<'a> {
        Many::new(self.0, n, put_map)
    }

    /// An extension, given as a pair of its kind and its bytes.
    fn extension<T: Serialize + ?Sized>(self, pair: &T) -> Encoded {
        let mut raw = Vec::new();
        pair.serialize(Encoder(&mut raw))?;
        let mut reader = Reader::new(&raw);
        let (Ok(Token::Array(2)), Ok(kind), Ok(Token::Bin(data))) =
            (reader.next(), reader.int(), reader.next())
        else {
            return Err(BadValue("an extension is a kind and bytes".to_owned()));
        };
        let kind = i8::try_from(kind).map_err(serde::ser::Error::custom)?;
        put_ext(self.0, kind, data);
        Ok(())
    }
}

macro_rules! integers {
    ($($name:ident $ty:ty, $put:ident $wide:ty;)*) => {
        $(
            fn $name(self, n: $ty) -> Encoded {
                $put(self.0, <$wide>::from(n));
                Ok(())
            }
        )*
    };
}

impl<'a> Serializer for Encoder<'a> {
    type Ok = ();
    type Error = BadValue;
    type SerializeSeq = Many<'a>;
    type SerializeTuple = Many<'a>;
    type SerializeTupleStruct = Many<'a>;
    type SerializeTupleVariant = Many<'a>;
    type SerializeMap = Many<'a>;
    type SerializeStruct = Many<'a>;
    type SerializeStructVariant = Many<'a>;

    integers! {
        serialize_i8 i8, put_int i64;
        serialize_i16 i16, put_int i64;
        serialize_i32 i32, put_int i64;
        serialize_i64 i64, put_int i64;
        serialize_u8 u8, put_uint u64;
        serialize_u16 u16, put_uint u64;
        serialize_u32 u32, put_uint u64;
        serialize_u64 u64, put_uint u64;
    }

    fn serialize_bool(self, b: bool) -> Encoded {
        b.put(self.0);
        Ok(())
    }

    /// MessagePack has no integers of this size: they are bytes.
    fn serialize_i128(self, n: i128) -> Encoded {
        self.serialize_bytes(&n.to_be_bytes())
    }

    fn serialize_u128(self, n: u128) -> Encoded {
        self.serialize_bytes(&n.to_be_bytes())
    }

    fn serialize_f32(self, f: f32) -> Encoded {
        self.0.push(0xca);
        self.0.extend_from_slice(&f.to_bits().to_be_bytes());
        Ok(())
    }

    fn serialize_f64(self, f: f64) -> Encoded {
        f.put(self.0);
        Ok(())
    }

    fn serialize_char(self, c: char) -> Encoded {
        self.serialize_str(c.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, s: &str) -> Encoded {
        put_str(self.0, s);
        Ok(())
    }

    fn serialize_bytes(self, b: &[u8]) -> Encoded {
        put_bin(self.0, b);
        Ok(())
    }

    fn serialize_none(self) -> Encoded {
        self.0.push(0xc0);
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Encoded {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Encoded {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Encoded {
        put_map(self.0, 0);
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
    ) -> Encoded {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Encoded {
        match name {
            EXTENSION => self.extension(value),
            _ => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        value: &T,
    ) -> Encoded {
        value.serialize(self.variant(variant))
    }

    fn serialize_seq(self, n: Option<usize>) -> Encoded<Many<'a>> {
        Ok(self.list(n))
    }

    fn serialize_tuple(self, n: usize) -> Encoded<Many<'a>> {
        Ok(self.list(Some(n)))
    }

    fn serialize_tuple_struct(self, _name: &'static str, n: usize) -> Encoded<Many<'a>> {
        Ok(self.list(Some(n)))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        n: usize,
    ) -> Encoded<Many<'a>> {
        Ok(self.variant(variant).list(Some(n)))
    }

    fn serialize_map(self, n: Option<usize>) -> Encoded<Many<'a>> {
        Ok(self.map(n))
    }

    fn serialize_struct(self, _name: &'static str, n: usize) -> Encoded<Many<'a>> {
        Ok(self.map(Some(n)))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        n: usize,
    ) -> Encoded<Many<'a>> {
        Ok(self.variant(variant).map(Some(n)))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// A list or map under way. If its length is not known, the header comes last.
pub(crate) struct Many<'a> {
    out: &'a mut Vec<u8>,
    /// Where the header belongs, and how it is written, if it is not there yet.
    late: Option<(usize, PutHeader)>,
    count: usize,
}

type PutHeader = fn(&mut Vec<u8>, usize);

impl<'a> Many<'a> {
    fn new(out: &'a mut Vec<u8>, n: Option<usize>, header: PutHeader) -> Self {
        let late = match n {
            Some(n) => {
                header(out, n);
                None
            }
            None => Some((out.len(), header)),
        };
        let count = 0;
        Many { out, late, count }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Encoded {
        self.count += 1;
        value.serialize(Encoder(self.out))
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Encoded {
        put_str(self.out, name);
        self.element(value)
    }

    fn finish(self) {
        if let Some((at, header)) = self.late {
            let mut head = Vec::new();
            header(&mut head, self.count);
            self.out.splice(at..at, head);
        }
    }
}

macro_rules! many {
    ($($name:ident $method:ident;)*) => {
        $(
            impl $name for Many<'_> {
                type Ok = ();
                type Error = BadValue;

                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Encoded {
                    self.element(value)
                }

                fn end(self) -> Encoded {
                    self.finish();
                    Ok(())
                }
            }
        )*
    };
}

many! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! fields {
    ($($name:ident)*) => {
        $(
            impl $name for Many<'_> {
                type Ok = ();
                type Error = BadValue;

                fn serialize_field<T: Serialize + ?Sized>(
                    &mut self,
                    name: &'static str,
                    value: &T,
                ) -> Encoded {
                    self.field(name, value)
                }

                fn end(self) -> Encoded {
                    self.finish();
                    Ok(())
                }
            }
        )*
    };
}

fields! { SerializeStruct SerializeStructVariant }

impl SerializeMap for Many<'_> {
    type Ok = ();
    type Error = BadValue;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Encoded {
        key.serialize(Encoder(self.out))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Encoded {
        self.element(value)
    }

    fn end(self) -> Encoded {
        self.finish();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use crate::codec::{decode, encode};
    use crate::{Bytes, Empty, Timestamp, Value};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        b: bool,
        small: (i8, i16, i32, u8, u16, u32),
        wide: (i128, u128),
        floats: (f32, f64),
        text: (char, String),
        bytes: Bytes,
        time: Timestamp,
        any: Value,
        none: Option<u8>,
        some: Option<u8>,
        map: BTreeMap<String, Vec<Kind>>,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        absent: Option<u8>,
        #[serde(flatten)]
        rest: BTreeMap<String, i64>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        Plain,
        One(i64),
        Two(i64, u64),
        Named { n: i64 },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Unit;

    fn all() -> All {
        let kinds = vec![
            Kind::Plain,
            Kind::One(-1),
            Kind::Two(i64::MIN, u64::MAX),
            Kind::Named { n: 7 },
        ];
        All {
            b: true,
            small: (-1, -300, 70_000, 200, 65_535, u32::MAX),
            wide: (-1, u128::MAX),
            floats: (1.5, -0.0),
            text: ('ä', "x".repeat(300)),
            bytes: Bytes(vec![1; 20]),
            time: Timestamp::from_unix_nanos(1_767_225_600_000_000_001),
            any: Value::List(vec![Value::Nil, Value::Extension(5, vec![1, 2, 3].into())]),
            none: None,
            some: Some(0),
            map: (0..20)
                .map(|i| (i.to_string(), Vec::new()))
                .chain([("k".to_owned(), kinds)])
                .collect(),
            absent: None,
            rest: BTreeMap::from([("more".to_owned(), 1)]),
        }
    }

    #[test]
    fn values_are_encoded_as_other_libraries_do() {
        let encoded = encode(&all()).ok().unwrap();
        assert_eq!(encoded, rmp_serde::to_vec_named(&all()).unwrap());
        assert_eq!(decode::<All>(&encoded).unwrap(), all());
    }

    #[test]
    fn nothing_is_an_empty_map() {
        for encoded in [encode(&()), encode(&Unit), encode(&Empty {})] {
            assert_eq!(encoded.ok().unwrap(), [0x80]);
        }
        // Inside of a value, a null of any library is nil.
        let nulls = (Unit, (), Value::Nil, serde_json::Value::Null);
        assert_eq!(encode(&nulls).ok().unwrap(), [0x94, 0x80, 0xc0, 0xc0, 0xc0]);
        for null in [encode(&Value::Nil), encode(&serde_json::Value::Null)] {
            assert_eq!(null.ok().unwrap(), [0xc0]);
        }
        for nothing in [[0x80], [0xc0]] {
            decode::<()>(&nothing).unwrap();
            assert_eq!(decode::<Unit>(&nothing).unwrap(), Unit);
            assert_eq!(decode::<Empty>(&nothing).unwrap(), Empty {});
        }
        assert!(decode::<()>(&[1]).is_err());
        assert!(decode::<Unit>(&[0x81, 0xa1, b'x', 0]).is_err());
    }
}
