//! The messages of a client to an execution, and its view of it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use conformance_guest::updates::{Add, Finish, Slow};
use cruster::testing::{Published, Test};
use cruster::{Schema, Update, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::case::Step;
use crate::value::{Places, same, value};

/// An update with an input that does not fit.
#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = i64, name = "add")]
struct AddText(String);

/// An update that no workflow takes.
#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = i64)]
struct Missing(i64);

/// Counts the answers that are to come.
#[derive(Clone, Default)]
pub struct Open(Rc<Cell<usize>>);

impl Open {
    pub fn count(&self) -> usize {
        self.0.get()
    }

    fn add(&self, n: isize) {
        self.0.set(self.0.get().wrapping_add_signed(n));
    }
}

/// Sends the update of a step, and checks its answer.
pub fn update(step: &Step, test: Test, at: Duration, open: &Open) -> Test {
    let number = step.value.as_i64();
    match (step.update.as_deref().unwrap_or_default(), &step.value) {
        ("add", Json::Number(_)) => {
            send(step, test, at, open, Add(number.expect("a whole number")))
        }
        ("add", Json::String(text)) => send(step, test, at, open, AddText(text.clone())),
        ("slow", Json::Object(slow)) => {
            let (add, wait) = (&slow["add"], &slow["wait"]);
            let add = add.as_i64().expect("a whole number");
            let wait = wait.as_str().expect("a text").to_owned();
            send(step, test, at, open, Slow { add, wait })
        }
        ("finish", Json::Null) => send(step, test, at, open, Finish),
        _ => send(step, test, at, open, Missing(number.unwrap_or_default())),
    }
}

fn send<U: Update>(step: &Step, test: Test, at: Duration, open: &Open, update: U) -> Test {
    let (want, refused) = (
        step.answer.clone(),
        step.refused.clone().unwrap_or_default(),
    );
    let open = open.clone();
    open.add(1);
    test.update_after(at, update, move |answer| {
        open.add(-1);
        match answer {
            Err(e) => assert_eq!(e.code(), refused, "{e}"),
            Ok(answer) => {
                let answer = serde_json::to_value(answer).expect("a value of the table");
                assert_eq!((answer, ""), (want, refused.as_str()));
            }
        }
    })
}

/// Checks all that can be seen of an execution.
pub fn check_published(want: &Json, got: &Published, places: &Places) {
    let nothing = Map::new();
    let part = |name: &str| want[name].as_object().unwrap_or(&nothing);
    let state = part("state");
    let fits = |(name, want): (&String, &Json)| {
        let got = got.state.get(name);
        got.is_some_and(|got| same(&value(want, places), got))
    };
    assert!(
        state.len() == got.state.len() && state.iter().all(fits),
        "wanted {state:?}\nbut got {:?}",
        got.state
    );
    let attributes = got
        .attributes
        .iter()
        .map(|(name, v)| (name.clone(), attribute(v)));
    assert_eq!(
        &attributes.collect::<Map<_, _>>(),
        &floats(part("attributes"))
    );
    let progress = got
        .progress
        .as_ref()
        .map(|(done, total, note)| match note.as_str() {
            "" => json!({"done": done, "total": total}),
            note => json!({"done": done, "total": total, "note": note}),
        });
    assert_eq!(progress.unwrap_or_default(), want["progress"]);
}

/// An attribute as the table has it: numbers are all of one kind.
fn attribute(value: &Value) -> Json {
    match value {
        Value::String(text) => json!(text),
        Value::Bool(b) => json!(b),
        Value::Time(time) => json!(time.to_string()),
        Value::Float(f) => json!(f),
        other => panic!("{other:?} is no attribute of the table"),
    }
}

fn floats(want: &Map<String, Json>) -> Map<String, Json> {
    let float = |v: &Json| v.as_f64().map_or_else(|| v.clone(), |f| json!(f));
    want.iter()
        .map(|(name, v)| (name.clone(), float(v)))
        .collect()
}
