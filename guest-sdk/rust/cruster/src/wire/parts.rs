//! The parts of bodies that are not bodies themselves.

use super::reader::{Token, utf8};
use super::writer::{put_array, put_bin, put_ext, put_float, put_int, put_map, put_str, put_uint};
use super::{Malformed, Reader, Wire};
use crate::extension::EXTENSION_TIME;
use crate::value::Value;

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(if *self { 0xc3 } else { 0xc2 });
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.bool()
    }
}

impl Wire for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        put_int(out, *self);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.int()
    }
}

impl Wire for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        put_uint(out, u64::from(*self));
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        u32::try_from(r.int()?).map_err(|_| Malformed("a number is out of range"))
    }
}

impl Wire for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        put_uint(out, *self);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.uint()
    }
}

impl Wire for f64 {
    fn put(&self, out: &mut Vec<u8>) {
        put_float(out, *self);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.float()
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_str(out, self);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.str().map(str::to_owned)
    }
}

/// Bytes, which are not a list of numbers.
impl Wire for Option<Vec<u8>> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Some(b) => put_bin(out, b),
            None => out.push(0xc0),
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(r.bin()?.map(<[u8]>::to_vec))
    }
}

impl<T: Wire> Wire for Option<Box<T>> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Some(v) => v.put(out),
            None => out.push(0xc0),
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        if r.nil() {
            Ok(None)
        } else {
            T::take(r).map(|v| Some(Box::new(v)))
        }
    }
}

/// A list that may be absent, which differs from empty.
impl<T: Wire> Wire for Option<Vec<T>> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Some(list) => list.put(out),
            None => out.push(0xc0),
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        if r.nil() {
            Ok(None)
        } else {
            Vec::take(r).map(Some)
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_array(out, self.len());
        for v in self {
            v.put(out);
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let n = r.array()?;
        take_many(r, n)
    }
}

fn take_many<T: Wire>(r: &mut Reader<'_>, n: usize) -> Result<Vec<T>, Malformed> {
    let mut list = Vec::with_capacity(n.min(1024));
    for _ in 0..n {
        list.push(T::take(r)?);
    }
    Ok(list)
}

impl Wire for Value {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Value::Nil => out.push(0xc0),
            Value::Bool(v) => v.put(out),
            Value::Int(v) => put_int(out, *v),
            Value::Uint(v) => put_uint(out, *v),
            Value::Float32(v) => {
                out.push(0xca);
                out.extend_from_slice(&v.to_bits().to_be_bytes());
            }
            Value::Float(v) => put_float(out, *v),
            Value::String(v) => put_str(out, v),
            Value::Bytes(v) => put_bin(out, v),
            Value::Time(v) => put_ext(out, EXTENSION_TIME, &v.to_extension()),
            Value::List(list) => list.put(out),
            Value::Map(entries) => {
                put_map(out, entries.len());
                for entry in entries {
                    entry.put(out);
                }
            }
            Value::Extension(kind, data) => put_ext(out, *kind, data),
        }
    }

    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.next()? {
            Token::Nil => Value::Nil,
            Token::Bool(v) => Value::Bool(v),
            Token::Int(v) => Value::Int(v),
            Token::Uint(v) => v.into(),
            Token::Float32(v) => Value::Float32(v),
            Token::Float(v) => Value::Float(v),
            Token::Str(b) => utf8(b)?.into(),
            Token::Bin(b) => b.into(),
            Token::Ext(kind, data) => Value::of_extension(kind, data.into()),
            Token::Array(n) => {
                r.enter()?;
                let list = take_many(r, n)?;
                r.leave();
                Value::List(list)
            }
            Token::Map(n) => {
                r.enter()?;
                let entries = take_many(r, n)?;
                r.leave();
                Value::Map(entries)
            }
        })
    }
}

/// An entry of a map.
impl Wire for (Value, Value) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((Value::take(r)?, Value::take(r)?))
    }
}
