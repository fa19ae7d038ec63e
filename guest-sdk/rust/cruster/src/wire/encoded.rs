//! Bodies that are encoded already.

use super::{Malformed, Reader, Wire};
use crate::names::sort;
use crate::value::Value;

/// A body inside of another. A definition encodes itself, so that the code for a kind of
/// body is part of the modules alone that have definitions of the kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded(Vec<u8>);

impl Encoded {
    /// Encodes a body.
    pub fn of(body: &impl Wire) -> Self {
        Encoded(body.encode())
    }

    /// Decodes the body.
    pub fn body<T: Wire>(&self) -> Result<T, Malformed> {
        T::decode(&self.0)
    }
}

impl Wire for Encoded {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Encoded::of(&Value::take(r)?))
    }
}

/// A list of bodies, sorted by their names; `None` if there are none.
pub(crate) fn sorted(mut named: Vec<(&'static str, Encoded)>) -> Option<Vec<Encoded>> {
    if named.is_empty() {
        return None;
    }
    sort(&mut named, |a, b| a.0 < b.0);
    Some(named.into_iter().map(|(_, body)| body).collect())
}
