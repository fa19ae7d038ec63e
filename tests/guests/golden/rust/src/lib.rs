//! The guest of the golden journals: one workflow that touches all that a guest can observe, and
//! returns it. It is the twin of the Go package in the folder above. Modules that were recorded are
//! kept as binaries, so this source may change: it is for the next format.

mod everything;
mod imports;

use cruster::Value;
use cruster::prelude::*;

cruster::module! {
    workflows: [everything::Callee, everything::Everything],
    migrations: [everything::EFFECTS],
}

/// One thing that the workflow has seen.
#[derive(Serialize, Deserialize, Schema)]
pub struct Saw {
    value: Value,
    what: String,
}

/// Collects the observations of a workflow.
#[derive(Default)]
struct Seen(Vec<Saw>);

impl Seen {
    fn add(&mut self, what: &str, value: impl Into<Value>) {
        self.0.push(Saw {
            value: value.into(),
            what: what.to_owned(),
        });
    }

    /// Adds the outcome of a call, with all that an error says.
    fn result(&mut self, what: &str, result: Result<impl Into<Value>>) {
        let value = result.map_or_else(
            |e| {
                let details: Value = e.details().unwrap_or_default();
                Value::Map(vec![
                    ("code".into(), e.code().into()),
                    ("details".into(), details),
                    ("text".into(), e.to_string().into()),
                    ("type".into(), e.error_type().into()),
                ])
            },
            Into::into,
        );
        self.add(what, value);
    }
}
