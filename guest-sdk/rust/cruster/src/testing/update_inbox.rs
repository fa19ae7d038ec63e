//! The updates of an execution that are not answered yet.

use std::collections::VecDeque;

use crate::wire::{Settled, UpdateRequest};

/// The updates of an execution.
#[derive(Default)]
pub(crate) struct Updates {
    /// The updates that were not delivered yet.
    pub(super) inbox: VecDeque<Sent>,
    /// The updates that were delivered, and are not answered.
    pub(super) held: Vec<Sent>,
    /// The op that waits for the next one; 0 for none.
    pub(super) op: u32,
    pub(super) sent: u64,
}

/// An update, and the receiver of its answer.
pub(super) struct Sent {
    pub(super) request: UpdateRequest,
    pub(super) tell: Box<dyn FnOnce(Settled)>,
}

impl Updates {
    /// How many were neither delivered nor answered.
    pub(crate) fn len(&self) -> usize {
        self.inbox.len() + self.held.len()
    }
}
