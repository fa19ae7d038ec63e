//! Values of the application on their way across the boundary: the codec, with
//! errors that name the value.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::codes::Code;
use crate::error::{Error, Result};

/// Encodes a value; `what` names it in errors, and is put into words only there.
pub(crate) fn encode<T: Serialize + ?Sized>(what: impl fmt::Display, value: &T) -> Result<Vec<u8>> {
    codec::encode(value).map_err(|e| Error::not_encoded(what, e))
}

/// Decodes a value. The error has the code, and `misfit` before its cause.
pub(crate) fn decode<T: DeserializeOwned>(
    data: &[u8],
    code: &Code,
    misfit: fmt::Arguments<'_>,
) -> Result<T> {
    codec::decode(data).map_err(|e| Error::misfit(code, misfit, &e))
}

/// Encodes a value as modules do, for clients outside of them.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, String> {
    codec::encode(value).map_err(|e| Error::not_encoded("it", e).to_string())
}

/// Decodes a value that [`to_bytes`] or a module has encoded.
pub fn from_bytes<T: DeserializeOwned>(data: &[u8]) -> Result<T, String> {
    codec::decode(data).map_err(|e| e.to_string())
}
