//! Requests, checked as the host checks them before it stores anything.

use crate::codec::MAX_VALUE;
use crate::codes;
use crate::definition::WorkflowDefinition;
use crate::schema::Shape;
use crate::testing::canonical::canonical;
use crate::testing::words::{closest, quoted};
use crate::value::Value;
use crate::wire::{Fault, Field, Schema, Wire};

/// The request in canonical form, if it fits the workflow.
pub(crate) fn check(workflow: &WorkflowDefinition, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
    fit("the input", workflow.input, body)
}

/// A value in canonical form, if it fits a shape; `what` names it in errors.
pub(crate) fn fit(what: &str, shape: fn() -> Shape, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
    fit_schema(what, &shape().into_wire(), body)
}

pub(crate) fn fit_schema(what: &str, shape: &Schema, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
    if body.len() > MAX_VALUE {
        let message = format!("{what} has {} bytes, the limit is {MAX_VALUE}", body.len());
        return Err(codes::PAYLOAD_TOO_LARGE.fault(message));
    }
    let bad = |message: String| codes::BAD_INPUT.fault(message);
    let canonical =
        canonical(body).map_err(|e| bad(format!("{what} is not one msgpack value: {e}")))?;
    let value = Value::decode(&canonical).map_err(|e| bad(e.to_string()))?;
    if value == Value::Nil && *shape == Shape::structure(Vec::new()).into_wire() {
        return Ok(Value::Map(Vec::new()).encode());
    }
    fits(&value, shape).map_err(|misfit| bad(misfit.to_string()))?;
    Ok(canonical)
}

/// Where a value does not fit, and why.
struct Misfit {
    path: String,
    message: String,
}

impl Misfit {
    fn under(mut self, place: &str) -> Self {
        let dot = match self.path.chars().next() {
            None | Some('[') => "",
            Some(_) => ".",
        };
        self.path = format!("{place}{dot}{}", self.path);
        self
    }
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

fn misfit(message: String) -> Misfit {
    Misfit {
        path: String::new(),
        message,
    }
}

/// Compares a value with a shape, strictly: no number is converted.
fn fits(value: &Value, shape: &Schema) -> Result<(), Misfit> {
    let kind = shape.kind.as_str();
    let any = Schema {
        kind: "any".to_owned(),
        ..Schema::default()
    };
    let elem = shape.elem.as_deref().unwrap_or(&any);
    match (kind, value) {
        ("any", _) | ("null", Value::Nil) => Ok(()),
        (_, Value::Nil) if shape.nullable => Ok(()),
        ("bool", Value::Bool(_)) | ("string", Value::String(_)) | ("bytes", Value::Bytes(_)) => {
            Ok(())
        }
        ("time", Value::Time(_)) => Ok(()),
        ("time", Value::Extension(-1, data)) if matches!(data.len(), 4 | 8 | 12) => Ok(()),
        ("int" | "uint", Value::Int(_) | Value::Uint(_)) => in_range(value, shape),
        ("float", Value::Float(_)) if shape.bits == 32 => Err(misfit(
            "expected a 32-bit float, got a 64-bit one".to_owned(),
        )),
        ("float", Value::Float(_) | Value::Float32(_)) => Ok(()),
        ("list", Value::List(list)) => list.iter().enumerate().try_for_each(|(i, value)| {
            fits(value, elem).map_err(|misfit| misfit.under(&format!("[{i}]")))
        }),
        ("map", Value::Map(entries)) => entries.iter().try_for_each(|(key, value)| match key {
            Value::String(key) => fits(value, elem)
                .map_err(|misfit| misfit.under(&format!("[{}]", quoted(key, usize::MAX)))),
            key => Err(misfit(format!(
                "expected keys that are strings, got {}",
                name(key)
            ))),
        }),
        ("struct", Value::Map(entries)) => {
            fields(entries, shape.fields.as_deref().unwrap_or_default())
        }
        _ => Err(misfit(format!(
            "expected {}, got {}",
            name_of(shape),
            name(value)
        ))),
    }
}

fn in_range(value: &Value, shape: &Schema) -> Result<(), Misfit> {
    let bits = if shape.bits == 0 { 64 } else { shape.bits };
    let n = match value {
        Value::Int(n) => i128::from(*n),
        Value::Uint(n) => i128::from(*n),
        _ => return Ok(()),
    };
    let (least, end) = match shape.kind.as_str() {
        "uint" => (0, 1i128 << bits),
        _ => (-(1i128 << (bits - 1)), 1i128 << (bits - 1)),
    };
    match (least..end).contains(&n) {
        true => Ok(()),
        false => Err(misfit(format!(
            "{n} is out of the range of {}{bits}",
            shape.kind
        ))),
    }
}

fn fields(entries: &[(Value, Value)], fields: &[Field]) -> Result<(), Misfit> {
    for (key, value) in entries {
        let Value::String(key) = key else {
            return Err(misfit(format!(
                "expected names of fields, got {}",
                name(key)
            )));
        };
        let Some(field) = fields.iter().find(|field| field.name == *key) else {
            return Err(unknown_field(key, fields));
        };
        if let Some(shape) = &field.schema {
            fits(value, shape).map_err(|misfit| misfit.under(key))?;
        }
    }
    let given = |field: &Field| {
        entries
            .iter()
            .any(|(key, _)| *key == Value::from(&field.name))
    };
    match fields.iter().find(|f| f.required && !given(f)) {
        None => Ok(()),
        Some(field) => Err(misfit(format!(
            "the field {} is missing",
            quoted(&field.name, usize::MAX)
        ))),
    }
}

fn unknown_field(name: &str, fields: &[Field]) -> Misfit {
    const LISTED: usize = 8;
    let known: Vec<String> = fields.iter().map(|f| f.name.clone()).collect();
    let meant = match (known.as_slice(), closest(name, &known)) {
        ([], _) => "no fields are expected".to_owned(),
        (_, Some(best)) => format!("did you mean {}?", quoted(best, usize::MAX)),
        (known, None) => {
            let more = if known.len() > LISTED { ", …" } else { "" };
            let listed = &known[..known.len().min(LISTED)];
            format!("known are {}{more}", listed.join(", "))
        }
    };
    misfit(format!(
        "unknown field {}; {meant}",
        quoted(name, usize::MAX)
    ))
}

/// A type for people to read: `int32`, `list of string or null`.
fn name_of(shape: &Schema) -> String {
    let mut name = shape.kind.clone();
    match name.as_str() {
        "int" | "uint" | "float" if shape.bits != 0 && shape.bits != 64 => {
            name += &shape.bits.to_string();
        }
        "list" | "map" => {
            let elem = shape.elem.as_deref();
            name += &match elem {
                None => " of any".to_owned(),
                Some(elem) if elem.nullable => format!(" of ({})", name_of(elem)),
                Some(elem) => format!(" of {}", name_of(elem)),
            };
        }
        _ => {}
    }
    match shape.nullable {
        true => name + " or null",
        false => name,
    }
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Uint(_) => "int",
        Value::Float32(_) | Value::Float(_) => "float",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Time(_) => "time",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Extension(..) => "extension",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Field, Shape};

    fn problem(value: impl Into<Value>, shape: Shape) -> String {
        fits(&value.into(), &shape.into_wire()).map_or_else(|m| m.to_string(), |()| String::new())
    }

    #[test]
    fn a_misfit_names_the_place() {
        let item = Shape::structure(vec![
            Field::required("quantity", Shape::int(8)),
            Field::optional("note", Shape::string()),
        ]);
        let order = || Shape::structure(vec![Field::required("items", Shape::list(item.clone()))]);
        let map = |entries: Vec<(&str, Value)>| {
            Value::Map(entries.into_iter().map(|(k, v)| (k.into(), v)).collect())
        };
        let of = |item: Value| map(vec![("items", Value::List(vec![item]))]);
        assert_eq!(problem(of(map(vec![("quantity", 1.into())])), order()), "");
        assert_eq!(
            problem(of(map(vec![("quantity", "1".into())])), order()),
            "items[0].quantity: expected int8, got string"
        );
        assert_eq!(
            problem(of(map(vec![])), order()),
            "items[0]: the field \"quantity\" is missing"
        );
        assert_eq!(
            problem(of(map(vec![("quantity", 128.into())])), order()),
            "items[0].quantity: 128 is out of the range of int8"
        );
        assert_eq!(
            problem(-1, Shape::uint(64)),
            "-1 is out of the range of uint64"
        );
        assert_eq!(problem(u64::MAX, Shape::uint(64)), "");
    }
}
