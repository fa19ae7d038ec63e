//! A history, in the words of the table.

use std::collections::BTreeMap;
use std::time::Duration;

use cruster::testing::{Event, Happening, History};
use cruster::wire::{Activity, EntityMessage, Wire};

/// An op, as it was issued.
#[derive(Clone)]
struct Issued {
    kind: String,
    line: String,
}

/// The deliveries, one line for each: `activity count key a`.
pub fn deliveries(history: &History) -> Vec<String> {
    let mut issued = BTreeMap::new();
    let mut lines = Vec::new();
    for event in &history.events {
        note(&mut issued, event);
        let line = || issued[&event.op].line.clone();
        match &event.what {
            Happening::Retried { .. } => lines.push(format!("{} failed", line())),
            Happening::Delivered { error: None, .. } => lines.push(line()),
            Happening::Delivered {
                error: Some(error), ..
            } => {
                let code = error.split(':').next().unwrap_or_default();
                lines.push(format!("{} {code}", line()));
            }
            _ => {}
        }
    }
    lines
}

/// The waits of the workflow right before a time since its start.
pub struct Waits {
    pub ops: Vec<String>,
    pub kinds: Vec<String>,
    pub delivered: usize,
}

/// Earlier are the runs whose place the history's has taken.
pub fn waits_before(earlier: &[History], history: &History, at: Duration) -> Waits {
    let at = earlier.first().unwrap_or(history).start + at;
    let mut runs = earlier.iter().chain([history]).rev();
    let history = runs.find(|run| run.start < at).unwrap_or(history);
    let mut pending = BTreeMap::new();
    let mut delivered = 0;
    for event in &history.events {
        if event.time >= at {
            break;
        }
        note(&mut pending, event);
        match event.what {
            Happening::Delivered { .. } => {
                delivered += 1;
                pending.remove(&event.op);
            }
            Happening::Canceled => drop(pending.remove(&event.op)),
            _ => {}
        }
    }
    Waits {
        ops: pending.values().map(|op| op.line.clone()).collect(),
        kinds: pending.values().map(|op| op.kind.clone()).collect(),
        delivered,
    }
}

fn note(ops: &mut BTreeMap<u32, Issued>, event: &Event) {
    if let Happening::Issued {
        kind, name, body, ..
    } = &event.what
    {
        let mut line = kind.clone();
        if kind.starts_with("entity_") {
            // The history of a kit names the entity, too.
            let EntityMessage { operation, .. } =
                EntityMessage::decode(body).expect("the body of a call of an entity");
            line += &format!(" {operation}");
        } else if kind != "sleep" && kind != "lock" && !name.is_empty() {
            line += &format!(" {name}");
        }
        if kind == "activity" {
            let Activity { key, .. } = Activity::decode(body).expect("the body of an activity");
            if !key.is_empty() {
                line += &format!(" key {key}");
            }
        }
        let kind = kind.clone();
        ops.insert(event.op, Issued { kind, line });
    }
}
