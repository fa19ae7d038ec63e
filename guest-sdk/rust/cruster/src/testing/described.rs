//! Ops and outcomes in words, for histories and for differences between two runs.

use std::fmt::Write;
use std::time::Duration;

use crate::value::Value;
use crate::wire::{self, Malformed, Outcome, Wire};

/// How much of the arguments of an op is shown, in characters.
const MOST: usize = 300;

/// The name of an op: the name of an activity, the time of a sleep and so on.
pub(crate) fn name(kind: &str, body: &[u8]) -> Result<String, Malformed> {
    Ok(match kind {
        "sleep" => format!("{:?}", time_of(&wire::Sleep::decode(body)?)),
        "activity" => wire::Activity::decode(body)?.name,
        "deferred" => wire::Deferred::decode(body)?.name,
        "resolve" => wire::Resolve::decode(body)?.name,
        "call" | "send" => wire::Call::decode(body)?.workflow,
        "interrupt" => wire::Interrupt::decode(body)?.execution,
        "poll" => wire::Poll::decode(body)?.execution,
        "receive" => wire::Receive::decode(body)?.name,
        "signal" => wire::Signal::decode(body)?.name,
        "lock" => wire::Lock::decode(body)?.entities.join(" "),
        "entity_call" | "entity_send" => {
            let body = wire::EntityMessage::decode(body)?;
            format!("{} {}", body.entity, body.operation)
        }
        "patched" => wire::Patched::decode(body)?.id,
        _ => String::new(),
    })
}

/// How long a sleep takes.
pub(crate) fn time_of(sleep: &wire::Sleep) -> Duration {
    Duration::from_nanos(u64::try_from(sleep.duration).unwrap_or(0))
}

/// An op with its arguments: `activity charge {input: {cents: 500}}`.
pub(crate) fn op(kind: &str, body: &[u8]) -> String {
    let name = name(kind, body).unwrap_or_default();
    let mut out = format!("{kind} {name}").trim_end().to_owned();
    let arguments = match Value::decode(body) {
        Ok(Value::Map(fields)) => fields.into_iter().filter(|(k, v)| tells(k, v)).collect(),
        _ => Vec::new(),
    };
    if !arguments.is_empty() && kind != "sleep" {
        out.push(' ');
        show(&mut out, &Value::Map(arguments));
    }
    shortened(&out)
}

/// Whether a field of an op says something that its name does not.
fn tells(field: &Value, value: &Value) -> bool {
    let named = ["name", "workflow", "id", "entity", "operation", "entities"];
    let empty = match value {
        Value::Nil | Value::Bool(false) | Value::Int(0) | Value::Uint(0) => true,
        Value::Float(f) => *f == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Map(fields) => !fields.iter().any(|(k, v)| tells(k, v)),
        Value::List(list) => list.is_empty(),
        _ => false,
    };
    !empty && !matches!(field, Value::String(field) if named.contains(&field.as_str()))
}

/// How a workflow ended.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    let value = |data: &Option<Vec<u8>>| {
        let value = Value::decode(data.as_deref().unwrap_or_default());
        let mut out = String::new();
        show(&mut out, &value.unwrap_or_default());
        shortened(&out)
    };
    match (&outcome.next, &outcome.error) {
        (Some(next), _) => format!("continued as a new run with {}", value(&next.input)),
        (None, Some(fault)) => format!("ended with {}: {}", fault.code, fault.message),
        (None, None) => format!("ended with {}", value(&outcome.value)),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Writes a value much as Rust would write it. Bytes that hold a value are shown as that: so are
/// the inputs of ops.
fn show(out: &mut String, value: &Value) {
    let written = match value {
        Value::Nil => write!(out, "null"),
        Value::Bool(v) => write!(out, "{v}"),
        Value::Int(v) => write!(out, "{v}"),
        Value::Uint(v) => write!(out, "{v}"),
        Value::Float32(v) => write!(out, "{v}"),
        Value::Float(v) => write!(out, "{v}"),
        Value::String(v) => write!(out, "{v:?}"),
        Value::Time(v) => write!(out, "{v}"),
        Value::Extension(kind, data) => write!(out, "extension {kind} {data:?}"),
        Value::Bytes(data) => match Value::decode(data) {
            Ok(value) => return show(out, &value),
            Err(_) => write!(out, "{data:?}"),
        },
        Value::List(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                show(out, item);
            }
            write!(out, "]")
        }
        Value::Map(entries) => {
            out.push('{');
            for (i, (key, item)) in entries.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                match key {
                    Value::String(key) => out.push_str(key),
                    key => show(out, key),
                }
                out.push_str(": ");
                show(out, item);
            }
            write!(out, "}}")
        }
    };
    debug_assert!(written.is_ok(), "a string takes every text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_show_their_arguments() {
        let activity = wire::Activity {
            input: Some(Value::List(vec![Value::from("a"), Value::from(1)]).encode()),
            name: "charge".to_owned(),
            ..wire::Activity::default()
        };
        assert_eq!(
            op("activity", &activity.encode()),
            r#"activity charge {input: ["a", 1]}"#
        );
        let sleep = wire::Sleep {
            duration: 2_000_000_000,
            ..wire::Sleep::default()
        };
        assert_eq!(op("sleep", &sleep.encode()), "sleep 2s");
        assert_eq!(
            outcome(&Outcome::from(Ok(Value::from("x").encode()))),
            r#"ended with "x""#
        );
    }
}
