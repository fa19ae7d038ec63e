//! The bodies that a module and its host exchange, and their encoding: MessagePack
//! maps with all fields, in alphabetical order, in shortest form.
//!
//! `codec` encodes the application's own values.

mod bodies;
mod encoded;
mod parts;
mod reader;
mod writer;

pub(crate) use bodies::Settled;
pub use bodies::*;
pub use encoded::Encoded;
pub(crate) use encoded::sorted;
#[cfg(not(target_family = "wasm"))]
pub(crate) use reader::{MAX_DEPTH, TOO_DEEP};
pub use reader::{Malformed, Reader};
pub(crate) use reader::{Token, utf8};
pub(crate) use writer::{put_array, put_bin, put_ext, put_int, put_map, put_str, put_uint};

/// A part of a body.
pub trait Wire: Sized {
    /// Appends the encoding.
    fn put(&self, out: &mut Vec<u8>);
    /// Takes one off the front.
    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed>;

    /// The encoding, as a new vector.
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        self.put(&mut out);
        out
    }

    /// Decodes one value and refuses bytes behind it.
    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(data);
        let value = Self::take(&mut r)?;
        r.end()?;
        Ok(value)
    }
}

/// Bytes that may be absent, which differs from empty.
pub type Binary = Option<Vec<u8>>;

/// The encoding of nil: the value of an op that yields nothing.
pub const NIL: &[u8] = &[0xc0];
