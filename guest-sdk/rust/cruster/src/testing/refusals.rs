//! The ops that the host refuses to issue, with its codes and words. A history does not
//! record them, so a replay has to refuse them again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::codec::MAX_VALUE;
use crate::codes;
use crate::host::Call;
use crate::testing::canonical::canonical;
use crate::testing::words::{MAX_NAME, hinted, quoted};
use crate::wire::{self, Binary, Fault, Malformed, Wire};

/// How large a body may be, in bytes.
pub(crate) const MAX_BODY: usize = 4 << 20;

/// How many ops a turn may issue.
const MAX_OPS_PER_TURN: u32 = 10_000;

/// How many ops may be open, and how large their bodies may be together.
const MAX_OPEN_OPS: usize = 100_000;
const MAX_OPEN_BYTES: usize = 64 << 20;

/// How many entries a journal has at most. A host pauses the execution then.
const MAX_ENTRIES: u64 = 250_000;

/// How long keys, reasons and the names of other executions are at most, in bytes.
pub(crate) const MAX_KEY: usize = 512;
const MAX_REASON: usize = 4096;
const MAX_REFERENCE: usize = 1024;

/// How many entities a critical section locks at most.
const MAX_LOCKED: usize = 32;

type Checked = Result<(), Box<Fault>>;

/// The ops of a run, counted as a host counts them.
#[derive(Default)]
pub(crate) struct OpLimits {
    /// The ops of this turn.
    issued: Cell<u32>,
    /// Whether one of them waits for an interrupt. The first wait for an interrupt does not count:
    /// the SDK issues one for every workflow.
    watched: Cell<bool>,
    /// The sizes of the open ones.
    open: RefCell<BTreeMap<u32, usize>>,
    bytes: Cell<usize>,
    /// The deliveries, and the attempts that failed and are repeated: a journal has an entry for
    /// each.
    entries: Cell<u64>,
}

impl OpLimits {
    /// How many entries the journal has.
    pub(crate) fn entries(&self) -> i64 {
        i64::try_from(self.entries.get()).unwrap_or(i64::MAX)
    }

    /// Counts an attempt that failed and is repeated.
    pub(crate) fn retry(&self) {
        self.entries.set(self.entries.get() + 1);
    }

    /// Counts a delivery, unless a journal would be too long with it.
    pub(crate) fn deliver(&self) -> Checked {
        self.entries.set(self.entries.get() + 1);
        let entries = self.entries.get();
        if entries > MAX_ENTRIES {
            let message = format!("the journal has {entries} entries, the limit is {MAX_ENTRIES}");
            return Err(codes::EXECUTION_TOO_LONG.fault(message));
        }
        Ok(())
    }

    pub(crate) fn begin_turn(&self) {
        self.issued.set(0);
        self.watched.set(false);
    }

    /// Checks an op by the rules of the host.
    pub(crate) fn check(&self, kind: &str, body: &[u8]) -> Checked {
        check_size(kind, body)?;
        let uncounted = kind == "interrupted" && !self.watched.get();
        if !uncounted && self.issued.get() >= MAX_OPS_PER_TURN {
            return Err(codes::TOO_MANY_OPS.fault(format!(
                "the workflow issued more than {MAX_OPS_PER_TURN} ops without waiting for one"
            )));
        }
        let (open, bytes) = (self.open.borrow().len(), self.bytes.get());
        if open >= MAX_OPEN_OPS || bytes + body.len() > MAX_OPEN_BYTES {
            return Err(codes::TOO_MANY_OPS.fault(format!(
                "the workflow waits for {open} ops of {bytes} bytes already"
            )));
        }
        examine(kind, body)
    }

    /// Counts an op that was issued.
    pub(crate) fn add(&self, op: u32, kind: &str, size: usize) {
        if kind == "interrupted" && !self.watched.replace(true) {
            // This one does not count.
        } else {
            self.issued.set(self.issued.get() + 1);
        }
        self.open.borrow_mut().insert(op, size);
        self.bytes.set(self.bytes.get() + size);
    }

    /// Forgets an op that was delivered or cancelled.
    pub(crate) fn remove(&self, op: u32) {
        if let Some(size) = self.open.borrow_mut().remove(&op) {
            self.bytes.set(self.bytes.get() - size);
        }
    }

    /// Forgets all ops, as the run has ended.
    pub(crate) fn clear(&self) {
        self.open.borrow_mut().clear();
        self.bytes.set(0);
        self.entries.set(0);
    }
}

/// The refusal of an immediate call of a workflow.
pub(crate) fn in_execute(call: &Call) -> Box<Fault> {
    let what = match call.name {
        "http" => "HTTP",
        "config" => "configuration",
        _ => "SQL",
    };
    let message = format!("{what} is not available in execute: its answer would differ on replay");
    let hint = "Move it into an activity and call that.";
    hinted(codes::WRONG_CONTEXT.fault(message), hint)
}

/// Checks the size of a value passed to the host.
pub(crate) fn check_size(call: &str, body: &[u8]) -> Checked {
    let size = body.len();
    match size > MAX_BODY {
        false => Ok(()),
        true => Err(codes::PAYLOAD_TOO_LARGE.fault(format!(
            "the body of {call} has {size} bytes, and {MAX_BODY} are allowed"
        ))),
    }
}

fn malformed(e: Malformed) -> Box<Fault> {
    codes::BAD_BODY.fault(e.to_string())
}

fn examine(kind: &str, body: &[u8]) -> Checked {
    match kind {
        "activity" => {
            let body = wire::Activity::decode(body).map_err(malformed)?;
            check_name(kind, &body.name)?;
            check_retry(&body.retry)?;
            check_value("the input", &body.input)?;
            check_op_key(&body.key)
        }
        "sleep" => check_label(&wire::Sleep::decode(body).map_err(malformed)?.name),
        "deferred" => check_name(kind, &wire::Deferred::decode(body).map_err(malformed)?.name),
        "receive" => check_name(kind, &wire::Receive::decode(body).map_err(malformed)?.name),
        "resolve" => {
            let body = wire::Resolve::decode(body).map_err(malformed)?;
            check_name(kind, &body.name)?;
            check_reference(&body.execution)?;
            match body.error {
                Some(_) => Ok(()),
                None => check_value("the value", &body.value),
            }
        }
        "call" | "send" => {
            let body = wire::Call::decode(body).map_err(malformed)?;
            check_reference(&body.workflow)?;
            check_value("the input", &body.input)?;
            check_on_cancel(&body.on_cancel)
        }
        "signal" => {
            let body = wire::Signal::decode(body).map_err(malformed)?;
            check_name(kind, &body.name)?;
            check_reference(&body.execution)?;
            check_value("the value", &body.value)
        }
        "entity_call" | "entity_send" => {
            let body = wire::EntityMessage::decode(body).map_err(malformed)?;
            check_entity(&body.entity)?;
            check_name(kind, &body.operation)?;
            check_value("the input", &body.input)
        }
        "lock" => check_lock(&wire::Lock::decode(body).map_err(malformed)?.entities),
        "answer" => {
            let body = wire::Answer::decode(body).map_err(malformed)?;
            check_name(kind, &body.id)?;
            match body.error {
                Some(_) => Ok(()),
                None => check_value("the value", &body.value),
            }
        }
        "interrupt" => {
            let body = wire::Interrupt::decode(body).map_err(malformed)?;
            check_reason(&body.reason)?;
            check_reference(&body.execution)
        }
        "patched" => check_name(kind, &wire::Patched::decode(body).map_err(malformed)?.id),
        "poll" => check_reference(&wire::Poll::decode(body).map_err(malformed)?.execution),
        _ => Ok(()),
    }
}

fn is_text(text: &str, most: usize) -> bool {
    text.len() <= most && !text.contains(char::is_control)
}

/// Refuses a bad body, unless it is none.
fn unless(good: bool, message: impl FnOnce() -> String) -> Checked {
    match good {
        true => Ok(()),
        false => Err(codes::BAD_BODY.fault(message())),
    }
}

fn check_name(kind: &str, name: &str) -> Checked {
    unless(!name.is_empty(), || format!("{kind}: the name is empty"))?;
    check_label(name)
}

/// Checks a name that may be empty.
fn check_label(name: &str) -> Checked {
    unless(is_text(name, MAX_NAME), || {
        let name = quoted(name, 40);
        format!(
            "the name {name} is longer than {MAX_NAME} bytes, not UTF-8, or has a control character"
        )
    })
}

fn check_reference(name: &str) -> Checked {
    check_other(name, "workflow or execution")
}

fn check_entity(name: &str) -> Checked {
    check_other(name, "entity")
}

fn check_other(name: &str, what: &str) -> Checked {
    unless(is_text(name, MAX_REFERENCE), || {
        let name = quoted(name, 40);
        let article = if what == "entity" { "an" } else { "a" };
        format!(
            "{name} is not a valid name of {article} {what}: it is longer than {MAX_REFERENCE} bytes, not UTF-8, or has a control character"
        )
    })
}

fn check_op_key(key: &str) -> Checked {
    unless(is_text(key, MAX_KEY), || {
        let key = quoted(key, 40);
        format!(
            "the key {key}… is longer than {MAX_KEY} bytes, not UTF-8, or has a control character"
        )
    })
}

fn check_reason(reason: &str) -> Checked {
    unless(reason.len() <= MAX_REASON, || {
        let reason = quoted(reason, 40);
        format!("the reason {reason}… is longer than {MAX_REASON} bytes, or not UTF-8")
    })
}

fn check_lock(entities: &[String]) -> Checked {
    let n = entities.len();
    unless((1..=MAX_LOCKED).contains(&n), || {
        format!("lock: {n} entities; 1 to {MAX_LOCKED} can be locked together")
    })?;
    entities.iter().try_for_each(|name| check_entity(name))
}

fn check_on_cancel(policy: &str) -> Checked {
    let known = ["", "abandon", "cancel", "terminate"].contains(&policy);
    unless(known, || {
        let policy = quoted(policy, 40);
        format!("{policy} does not say what becomes of a workflow that is given up")
    })
    .map_err(|fault| hinted(fault, r#"Use "cancel", "terminate" or "abandon"."#))
}

fn check_retry(retry: &wire::Retry) -> Checked {
    let known = ["", "exponential", "constant"].contains(&retry.backoff.as_str());
    unless(known, || {
        let backoff = quoted(&retry.backoff, usize::MAX);
        format!("{backoff} is not a backoff strategy")
    })
    .map_err(|fault| hinted(fault, r#"Use "exponential" or "constant"."#))?;
    unless(retry.base >= 0, || {
        "the base of the backoff is negative".to_owned()
    })?;
    unless((0.0..=1.0).contains(&retry.jitter), || {
        format!("the jitter {} is not between 0 and 1", retry.jitter)
    })
}

/// Refuses oversized bytes, and bytes other than one value with a canonical form.
fn check_value(what: &str, value: &Binary) -> Checked {
    let value = value.as_deref().unwrap_or_default();
    let size = value.len();
    if size > MAX_VALUE {
        let message = format!("{what} has {size} bytes, the limit is {MAX_VALUE}");
        return Err(codes::PAYLOAD_TOO_LARGE.fault(message));
    }
    canonical(value)
        .map(drop)
        .map_err(|e| codes::BAD_BODY.fault(format!("{what} is not one msgpack value: {e}")))
}

/// Refuses keys that the host refuses.
pub(crate) fn check_key(key: String) -> Result<String, Box<Fault>> {
    let begin = quoted(&key, 40);
    if key.is_empty() || key.len() > MAX_KEY {
        let message = format!("the key {begin} is empty, longer than {MAX_KEY} bytes or not UTF-8");
        return Err(codes::BAD_KEY.fault(message));
    }
    if key.contains(char::is_control) {
        let message = format!("the key {begin} has a control character");
        return Err(codes::BAD_KEY.fault(message));
    }
    Ok(key)
}
