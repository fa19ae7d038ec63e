//! The signals of an execution that wait to be received.

use std::collections::VecDeque;

use crate::value::Value;
use crate::wire::Wire;

/// The signals of an execution that no op has taken, and the ops that wait for one.
#[derive(Default)]
pub(crate) struct Mailbox {
    pub(super) unread: VecDeque<Unread>,
    /// Their encoded size.
    pub(super) bytes: usize,
    pub(super) waiting: VecDeque<(u32, String)>,
}

impl Mailbox {
    /// Forgets the waiters, as the run has ended.
    pub(crate) fn forget_ops(&mut self) {
        self.waiting.clear();
    }
}

/// A signal that an execution was sent and had not received by its end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Unread {
    /// The name of the signal.
    pub name: String,
    /// Its payload.
    pub value: Value,
}

impl Unread {
    pub(super) fn kept((name, value): (&'static str, Vec<u8>)) -> Self {
        Unread {
            name: name.to_owned(),
            value: Value::decode(&value).unwrap_or_default(),
        }
    }
}
