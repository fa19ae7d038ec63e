//! Why a value has no encoding, and why bytes are not a value of a type.

use std::fmt;

use crate::wire::Malformed;

/// Why a value has no encoding.
pub(crate) enum EncodeError {
    /// Its size in bytes, which is above [`MAX_VALUE`](super::MAX_VALUE).
    TooLarge(usize),
    /// Its `Serialize` failed.
    Value(BadValue),
}

/// Why the `Serialize` of a value failed.
#[derive(Debug)]
pub(crate) struct BadValue(pub(crate) String);

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadValue {}

impl serde::ser::Error for BadValue {
    fn custom<T: fmt::Display>(message: T) -> Self {
        BadValue(message.to_string())
    }
}

/// Why bytes are not a value of a type, and where in it.
#[derive(Debug)]
pub(crate) struct DecodeError {
    /// From the outside in: `.items[2].cents`.
    path: String,
    message: String,
}

impl DecodeError {
    /// The error, one level further out.
    pub(crate) fn within(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.trim_start_matches('.');
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

impl serde::de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        DecodeError {
            path: String::new(),
            message: message.to_string(),
        }
    }
}

impl From<Malformed> for DecodeError {
    fn from(m: Malformed) -> Self {
        DecodeError {
            path: String::new(),
            message: m.0.to_owned(),
        }
    }
}
