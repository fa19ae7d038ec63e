//! Values as the table writes them: JSON, with an object of one key that begins with a dollar sign
//! for values that JSON lacks. `table/value.go` is the specification.

use cruster::{Bytes, Timestamp, Value};
use serde_json::Value as Json;

/// The parts of values that only the runner knows.
#[derive(Clone)]
pub struct Places {
    pub outside: &'static str,
    pub execution: String,
}

pub fn value(json: &Json, places: &Places) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(b) => Value::Bool(*b),
        Json::String(s) => s.as_str().into(),
        Json::Number(n) => match n.as_i64() {
            Some(n) => n.into(),
            None => n.as_u64().expect("a number is an integer").into(),
        },
        Json::Array(list) => Value::List(list.iter().map(|v| value(v, places)).collect()),
        Json::Object(map) => match map.iter().next() {
            Some((kind, content)) if kind.starts_with('$') => special(kind, content, places),
            _ => Value::Map(
                map.iter()
                    .map(|(k, v)| (k.as_str().into(), value(v, places)))
                    .collect(),
            ),
        },
    }
}

fn special(kind: &str, content: &Json, places: &Places) -> Value {
    let text = content.as_str().unwrap_or_default();
    let first = &content[0];
    let second = || content[1].as_i64().expect("the second of the pair");
    match kind {
        "$float" => Value::Float(text.parse().expect("a float")),
        "$float32" => Value::Float32(text.parse().expect("a float")),
        "$bytes" => Value::Bytes(Bytes(bytes(text))),
        "$zeros" => Value::Bytes(Bytes(vec![0; content.as_u64().expect("a length") as usize])),
        "$repeat" => first
            .as_str()
            .expect("a text")
            .repeat(second() as usize)
            .into(),
        "$many" => Value::List(vec![value(first, places); second() as usize]),
        "$time" => {
            let seconds = i128::from(first.as_i64().expect("seconds"));
            time(seconds * 1_000_000_000 + i128::from(second()))
        }
        "$outside" => format!("{}{text}", places.outside).into(),
        "$execution" => places.execution.clone().into(),
        _ => panic!("{kind} is not a value"),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal digits"))
        .collect()
}

/// A time, which a [`Timestamp`] cannot hold if it is too far away.
fn time(nanos: i128) -> Value {
    match i64::try_from(nanos) {
        Ok(nanos) => Value::Time(Timestamp::from_unix_nanos(nanos)),
        Err(_) => {
            let (seconds, rest) = (
                nanos.div_euclid(1_000_000_000),
                nanos.rem_euclid(1_000_000_000),
            );
            let (seconds, rest) = (seconds as i64, rest as u32);
            let payload = match u64::try_from(seconds) {
                Ok(seconds) if seconds < 1 << 34 => {
                    ((u64::from(rest) << 34) | seconds).to_be_bytes().to_vec()
                }
                _ => [&rest.to_be_bytes()[..], &seconds.to_be_bytes()[..]].concat(),
            };
            Value::Extension(-1, Bytes(payload))
        }
    }
}

/// Compares values as their bytes would compare: NaN is NaN, and -0 is not 0. Maps have no order.
pub fn same(a: &Value, b: &Value) -> bool {
    format!("{:?}", sorted(a)) == format!("{:?}", sorted(b))
}

fn sorted(v: &Value) -> Value {
    match v {
        Value::List(list) => Value::List(list.iter().map(sorted).collect()),
        Value::Map(entries) => {
            let mut entries: Vec<_> = entries
                .iter()
                .map(|(k, v)| (sorted(k), sorted(v)))
                .collect();
            entries.sort_by_key(|(k, _)| format!("{k:?}"));
            Value::Map(entries)
        }
        other => other.clone(),
    }
}
