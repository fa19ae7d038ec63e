//! The attributes of a log record: `log::info!(cents = 500; "charged")`.

use std::fmt::{self, Write};

use log::kv::{Error, Key, VisitSource, VisitValue};

use crate::value::Value;
use crate::wire::{Wire, put_array, put_str};

/// Parts the text of a record from its attributes.
const SEPARATOR: char = '\u{1e}';

/// The attributes of a record, in order.
#[derive(Default)]
pub(super) struct Attrs(Vec<(String, Value)>);

impl<'kvs> VisitSource<'kvs> for Attrs {
    fn visit_pair(&mut self, key: Key<'kvs>, value: log::kv::Value<'kvs>) -> Result<(), Error> {
        let mut found = Found(Value::Nil);
        value.visit(&mut found)?;
        self.0.push((key.to_string(), found.0));
        Ok(())
    }
}

/// The findings of a visit.
struct Found(Value);

impl<'v> VisitValue<'v> for Found {
    fn visit_any(&mut self, value: log::kv::Value<'_>) -> Result<(), Error> {
        self.0 = Value::String(value.to_string());
        Ok(())
    }
    fn visit_null(&mut self) -> Result<(), Error> {
        self.0 = Value::Nil;
        Ok(())
    }
    fn visit_bool(&mut self, value: bool) -> Result<(), Error> {
        self.0 = Value::Bool(value);
        Ok(())
    }
    fn visit_i64(&mut self, value: i64) -> Result<(), Error> {
        self.0 = Value::Int(value);
        Ok(())
    }
    fn visit_u64(&mut self, value: u64) -> Result<(), Error> {
        self.0 = Value::Uint(value);
        Ok(())
    }
    fn visit_f64(&mut self, value: f64) -> Result<(), Error> {
        self.0 = Value::Float(value);
        Ok(())
    }
}

// A test writes lines of text.
#[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
impl Attrs {
    /// The record as the host takes it: the text, and a list of keys and values.
    pub(super) fn record(&self, text: &str) -> Vec<u8> {
        let mut out = text.replace(SEPARATOR, " ").into_bytes();
        if self.0.is_empty() {
            return out;
        }
        out.push(SEPARATOR as u8);
        put_array(&mut out, 2 * self.0.len());
        for (key, value) in &self.0 {
            put_str(&mut out, key);
            value.put(&mut out);
        }
        out
    }
}

/// As a line of text has them: ` key=value` for each.
impl fmt::Display for Attrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.0 {
            f.write_char(' ')?;
            match value {
                Value::Nil => write!(f, "{key}=<nil>")?,
                Value::Bool(v) => write!(f, "{key}={v}")?,
                Value::Int(v) => write!(f, "{key}={v}")?,
                Value::Uint(v) => write!(f, "{key}={v}")?,
                Value::Float(v) => write!(f, "{key}={v}")?,
                Value::String(v) if is_plain(v) => write!(f, "{key}={v}")?,
                Value::String(v) => write!(f, "{key}={v:?}")?,
                other => write!(f, "{key}={other:?}")?,
            }
        }
        Ok(())
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains([' ', '\t', '\r', '\n', '"', '='])
}

#[cfg(test)]
mod tests {
    use log::kv::{Source, Value};

    use super::Attrs;

    fn attrs(of: &[(&str, Value<'_>)]) -> Attrs {
        let mut found = Attrs::default();
        of.visit(&mut found).unwrap();
        found
    }

    #[test]
    fn a_record_has_its_attributes_behind_its_text() {
        let none = attrs(&[]);
        assert_eq!(none.record("plain \u{1e}text"), b"plain  text");
        assert_eq!(none.to_string(), "");

        let some = attrs(&[
            ("cents", Value::from(500)),
            ("who", Value::from("ada b")),
            ("ok", Value::from(true)),
            ("share", Value::from(0.5)),
            ("none", Value::null()),
        ]);
        assert_eq!(
            some.to_string(),
            " cents=500 who=\"ada b\" ok=true share=0.5 none=<nil>"
        );
        let record = some.record("charged");
        assert!(
            record.starts_with(b"charged\x1e\x9a\xa5cents"),
            "{record:?}"
        );
    }
}
