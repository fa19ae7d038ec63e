//! Bodies that are encoded already.

use super::{Malformed, Reader, Wire};
use crate::names::sort;
use crate::value::Value;

/// A body inside of another. A definition encodes itself, so that the code for a kind of
/// body is part of the modules alone that have definitions of the kind.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// The sort key of lists, until they are encoded.
    name: &'static str,
    raw: Vec<u8>,
}

impl Encoded {
    /// Encodes a body.
    pub fn new(name: &'static str, body: &impl Wire) -> Self {
        let raw = body.encode();
        Encoded { name, raw }
    }

    /// Decodes the body.
    pub fn body<T: Wire>(&self) -> Result<T, Malformed> {
        T::decode(&self.raw)
    }
}

impl PartialEq for Encoded {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Wire for Encoded {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.raw);
    }

    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Encoded::new("", &Value::take(r)?))
    }
}

/// A list of bodies, sorted by their names; `None` if there are none.
pub(crate) fn sorted(mut list: Vec<Encoded>) -> Option<Vec<Encoded>> {
    sort(&mut list, |a, b| a.name < b.name);
    (!list.is_empty()).then_some(list)
}
