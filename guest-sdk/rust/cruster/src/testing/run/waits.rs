//! The waits of a run, in words.

use std::fmt;
use std::sync::Arc;

use crate::execution::Execution;
use crate::testing::run::Run;

/// How many ops the message of a limit names.
const MOST: usize = 10;

/// The first ops that are pending, and how many more there are. Another thread may put them into words.
#[derive(Default)]
pub(in crate::testing) struct Pending {
    ops: Vec<(u32, Arc<str>)>,
    more: usize,
}

/// The part of a message about the pending ops when a limit has ended the run.
impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "; pending: ";
        for (op, what) in &self.ops {
            write!(f, "{before}{what} (op {op})")?;
            before = ", ";
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Run {
    /// The waits of the workflow, for a message.
    pub(crate) fn waits_for(&self) -> String {
        let pending = self.pending.borrow();
        let names: Vec<String> = pending
            .iter()
            .filter(|(op, _)| **op != self.interrupt_op.get())
            .map(|(op, pending)| format!("{} (op {op})", pending.what))
            .collect();
        match names.is_empty() {
            true => format!("its own tasks: {}", self.tasks()),
            false => names.join(", "),
        }
    }

    /// The pending ops, for the message of a limit.
    pub(super) fn pending(&self) -> Pending {
        let pending = self.pending.borrow();
        let interrupt = self.interrupt_op.get();
        let ops: Vec<_> = pending
            .iter()
            .filter(|(op, _)| **op != interrupt)
            .take(MOST)
            .map(|(op, pending)| (*op, pending.what.clone()))
            .collect();
        let all = pending.len() - usize::from(pending.contains_key(&interrupt));
        Pending {
            more: all - ops.len(),
            ops,
        }
    }

    /// A host's message about a deadlock.
    pub(crate) fn deadlock(&self) -> String {
        format!(
            "deadlock: every task waits and nothing is pending: {}",
            self.tasks()
        )
    }

    /// The wait of each task.
    fn tasks(&self) -> String {
        let execution = self.execution.borrow();
        let waits = execution.as_ref().map(Execution::waits);
        waits.unwrap_or_default().join("; ")
    }
}
