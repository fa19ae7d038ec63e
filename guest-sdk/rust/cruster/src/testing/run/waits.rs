//! The waits of a run, in words.

use crate::execution::Execution;
use crate::testing::pending::{MOST, Pending};
use crate::testing::run::Run;

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
