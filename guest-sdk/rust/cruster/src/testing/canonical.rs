//! The canonical form of a value: the form the host hashes and compares.

use std::cmp::Ordering;
use std::fmt;

use crate::value::Value;
use crate::wire::{MAX_DEPTH, Malformed, TOO_DEEP, Wire};

/// Why bytes have no canonical form, in the words of a host.
#[derive(Debug)]
pub(crate) struct NotCanonical(pub(crate) String);

impl fmt::Display for NotCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "msgpack: {}", self.0)
    }
}

impl From<Malformed> for NotCanonical {
    fn from(e: Malformed) -> Self {
        NotCanonical(match e == TOO_DEEP {
            true => format!("nested more than {MAX_DEPTH} deep"),
            false => e.0.to_owned(),
        })
    }
}

/// The canonical form of one encoded value.
pub(crate) fn canonical(data: &[u8]) -> Result<Vec<u8>, NotCanonical> {
    let mut value = Value::decode(data)?;
    sort(&mut value)?;
    Ok(value.encode())
}

/// Whether two encodings mean the same value.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    match (canonical(a), canonical(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

fn sort(value: &mut Value) -> Result<(), NotCanonical> {
    match value {
        Value::Float32(f) if f.is_nan() => *f = f32::from_bits(0x7fc0_0000),
        Value::Float(f) if f.is_nan() => *f = f64::from_bits(0x7ff8_0000_0000_0000),
        Value::List(list) => list.iter_mut().try_for_each(sort)?,
        Value::Map(entries) => {
            for (k, v) in entries.iter_mut() {
                sort(k)?;
                sort(v)?;
            }
            entries.sort_by(|(a, _), (b, _)| order(a, b));
            let mut pairs = entries.windows(2);
            if let Some([(key, _), _]) =
                pairs.find(|pair| order(&pair[0].0, &pair[1].0) == Ordering::Equal)
            {
                let hex: String = key.encode().iter().map(|b| format!("{b:02x}")).collect();
                return Err(NotCanonical(format!("a map has the key 0x{hex} twice")));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Strings by their bytes, after everything else by its encoding.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::String(_), _) => Ordering::Greater,
        (_, Value::String(_)) => Ordering::Less,
        _ => a.encode().cmp(&b.encode()),
    }
}
