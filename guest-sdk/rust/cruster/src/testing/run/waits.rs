//! What a run waits for, in words.

use crate::execution::Execution;
use crate::testing::run::Run;

impl Run {
    /// What the workflow waits for, for a message.
    pub(crate) fn waits_for(&self) -> String {
        match self.pending_ops(usize::MAX) {
            none if none.is_empty() => format!("its own tasks: {}", self.tasks()),
            names => names,
        }
    }

    /// The ops that are pending, or the first of them.
    fn pending_ops(&self, most: usize) -> String {
        let pending = self.pending.borrow();
        let names: Vec<String> = pending
            .iter()
            .filter(|(op, _)| **op != self.interrupt_op.get())
            .take(most)
            .map(|(op, pending)| format!("{} (op {op})", pending.what))
            .collect();
        names.join(", ")
    }

    /// What a message adds on ops that are pending when a limit has ended the run.
    pub(super) fn and_pending(&self, most: usize) -> String {
        match self.pending_ops(most) {
            none if none.is_empty() => none,
            names => format!("; pending: {names}"),
        }
    }

    /// What a host says of a deadlock.
    pub(crate) fn deadlock(&self) -> String {
        format!(
            "deadlock: every task waits and nothing is pending: {}",
            self.tasks()
        )
    }

    /// What each task waits for.
    fn tasks(&self) -> String {
        let execution = self.execution.borrow();
        let waits = execution.as_ref().map(Execution::waits);
        waits.unwrap_or_default().join("; ")
    }
}
