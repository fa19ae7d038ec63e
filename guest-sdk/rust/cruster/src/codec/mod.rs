//! The encoding of an application's own values.

mod decode;
mod encode;
mod error;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{NIL, Reader};

use decode::Decoder;
use encode::Encoder;
pub(crate) use error::{DecodeError, EncodeError};

/// How large a value may be, so that the body around it stays within its limit.
pub(crate) const MAX_VALUE: usize = (4 << 20) - (64 << 10);

/// Encodes a value.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut b = Vec::with_capacity(128);
    let encoded = value.serialize(Encoder(&mut b));
    encoded.map_err(EncodeError::Value)?;
    if b == NIL && size_of_val(value) == 0 {
        // It is the unit type: a type that has other values than nil has a size.
        b = Encoder::nothing();
    }
    if b.len() > MAX_VALUE {
        return Err(EncodeError::TooLarge(b.len()));
    }
    Ok(b)
}

/// Decodes one value and refuses bytes behind it.
pub(crate) fn decode<T: DeserializeOwned>(data: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::new(data);
    let value = T::deserialize(Decoder(&mut reader))?;
    reader.end()?;
    Ok(value)
}
