//! The encoding of an application's own values.

mod decode;
mod error;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codes;
use crate::error::{Error, Result};
use crate::wire::Reader;

use decode::Decoder;
pub(crate) use error::DecodeError;

/// How large a value may be, so that the body around it stays within its limit.
const MAX_VALUE: usize = (4 << 20) - (64 << 10);

/// Encodes a value; `what` names it in errors.
pub(crate) fn encode<T: Serialize + ?Sized>(what: &str, value: &T) -> Result<Vec<u8>> {
    let b = rmp_serde::to_vec_named(value).map_err(|e| Error::from(e).context(what))?;
    if b.len() > MAX_VALUE {
        let size = b.len();
        let message = format!("{what} takes {size} bytes, the limit is {MAX_VALUE}");
        return Err(Error::with_code(&codes::PAYLOAD_TOO_LARGE, message));
    }
    Ok(b)
}

/// Decodes one value and refuses bytes behind it.
pub(crate) fn decode<T: DeserializeOwned>(data: &[u8]) -> std::result::Result<T, DecodeError> {
    let mut reader = Reader::new(data);
    let value = T::deserialize(Decoder(&mut reader))?;
    reader.end()?;
    Ok(value)
}
