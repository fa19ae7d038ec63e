//! The canonical form of a value: what the host hashes and compares.

use std::cmp::Ordering;

use crate::value::Value;
use crate::wire::{Malformed, Wire};

/// The canonical form of one encoded value.
pub(crate) fn canonical(data: &[u8]) -> Result<Vec<u8>, Malformed> {
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

fn sort(value: &mut Value) -> Result<(), Malformed> {
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
            if entries
                .windows(2)
                .any(|pair| order(&pair[0].0, &pair[1].0) == Ordering::Equal)
            {
                return Err(Malformed("a map has a key twice"));
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
