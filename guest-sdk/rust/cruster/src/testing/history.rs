//! The history of an execution.

use std::fmt;
use std::time::Duration;

use crate::module::Module;
use crate::timestamp::Timestamp;
use crate::wire::{Fault, Invocation, Outcome};

/// The history of an execution: its events, in order.
#[derive(Clone)]
pub struct History {
    pub(crate) module: &'static Module,
    pub(crate) namespace: String,
    pub(crate) workflow: String,
    pub(crate) input: Vec<u8>,
    /// The names of signals that the run before was delivered and has not looked at.
    pub(crate) unread: Vec<String>,
    /// How many runs were before this one.
    pub(crate) run: u32,
    pub(crate) outcome: Outcome,
    /// The id of the execution.
    pub execution: String,
    /// When it was started, in virtual time.
    pub start: Timestamp,
    /// The events.
    pub events: Vec<Event>,
}

/// One event.
#[derive(Clone)]
pub struct Event {
    /// When, in virtual time.
    pub time: Timestamp,
    /// The op it is about.
    pub op: u32,
    /// The events.
    pub what: Happening,
}

/// The events of an op.
#[derive(Clone)]
#[non_exhaustive]
pub enum Happening {
    /// The workflow issued it.
    #[non_exhaustive]
    Issued {
        /// `activity`, `sleep` and so on.
        kind: String,
        /// The name of the activity, the time of the sleep and so on.
        name: String,
        /// The op as it was issued.
        body: Vec<u8>,
    },
    /// The workflow no longer waits for it.
    Canceled,
    /// An attempt of the activity failed and is repeated. The workflow does not see it.
    #[non_exhaustive]
    Retried {
        /// The error of the attempt, as text.
        error: String,
    },
    /// Its outcome was delivered to the workflow.
    #[non_exhaustive]
    Delivered {
        /// Its result, encoded; `None` if it failed.
        value: Option<Vec<u8>>,
        /// Its error, as text.
        error: Option<String>,
        #[doc(hidden)]
        fault: Option<Box<Fault>>,
    },
}

/// The ops that the SDK issues by itself.
pub(crate) const AT_THE_START: [&str; 2] = ["interrupted", "update"];

impl History {
    /// The ops that the workflow issued, as `activity reserve` or `sleep 2s`, in
    /// order. The waits for an interrupt and for the next update, which the SDK issues
    /// by itself, are left out.
    pub fn steps(&self) -> Vec<String> {
        let step = |event: &Event| match &event.what {
            Happening::Issued { kind, name, .. } if !AT_THE_START.contains(&kind.as_str()) => {
                Some(format!("{kind} {name}").trim_end().to_owned())
            }
            _ => None,
        };
        self.events.iter().filter_map(step).collect()
    }

    /// How long the execution took, in virtual time.
    pub fn duration(&self) -> Duration {
        self.events
            .last()
            .map_or(Duration::ZERO, |last| last.time - self.start)
    }

    /// The invocation that starts the execution.
    pub(crate) fn invocation(&self) -> Invocation {
        Invocation {
            body: Some(self.input.clone()),
            execution: self.execution.clone(),
            kind: "workflow".to_owned(),
            name: self.workflow.clone(),
            namespace: self.namespace.clone(),
            seed: Some(self.seed()),
            time: self.start.unix_nanos(),
            unread: Some(self.unread.clone()),
            ..Invocation::default()
        }
    }

    fn seed(&self) -> Vec<u8> {
        match self.run {
            0 => self.execution.clone(),
            run => format!("{} {run}", self.execution),
        }
        .into_bytes()
    }

    /// Forgets an op that takes effect with the turn in which it is issued and cancelled: a
    /// journal does not have it. Returns whether it is such a one.
    pub(crate) fn forget(&mut self, op: u32) -> bool {
        let is_it = |event: &Event| {
            let kind = match &event.what {
                Happening::Issued { kind, .. } => kind,
                _ => return false,
            };
            event.op == op && forgettable(kind)
        };
        let at = self.events.iter().rposition(is_it);
        at.map(|at| self.events.remove(at)).is_some()
    }

    pub(crate) fn add(&mut self, time: Timestamp, op: u32, what: Happening) {
        self.events.push(Event { time, op, what });
    }
}

/// Whether ops of a kind take effect although they are cancelled in the turn of their issue.
pub(crate) fn forgettable(kind: &str) -> bool {
    ["answer", "publish", "unlock"].contains(&kind)
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = self.op;
        match &self.what {
            Happening::Issued { kind, name, .. } if name.is_empty() => {
                write!(f, "issued {op} {kind}")
            }
            Happening::Issued { kind, name, .. } => write!(f, "issued {op} {kind} {name}"),
            Happening::Retried { error } => write!(f, "retried {op}: {error}"),
            Happening::Canceled => write!(f, "canceled {op}"),
            Happening::Delivered {
                error: Some(error), ..
            } => write!(f, "delivered {op}: {error}"),
            Happening::Delivered { .. } => write!(f, "delivered {op}"),
        }
    }
}

/// Line by line, with virtual times.
impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.execution)?;
        for event in &self.events {
            let since = format!("{:?}", event.time - self.start);
            writeln!(f, "{since:<12} {event}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
