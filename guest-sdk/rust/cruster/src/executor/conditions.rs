//! The waits of tasks for something other than an op.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A condition that a task waits for.
pub(crate) struct Condition {
    pub(crate) holds: Rc<dyn Fn() -> bool>,
    /// It has held once.
    pub(crate) met: Rc<Cell<bool>>,
    pub(crate) wait: u64,
}

impl Condition {
    fn look(&self) -> bool {
        self.met.set((self.holds)());
        self.met.get()
    }
}

/// The conditions that tasks wait for.
#[derive(Default)]
pub(crate) struct Conditions(RefCell<Vec<Condition>>);

impl Conditions {
    pub(crate) fn add(&self, condition: Condition) {
        self.0.borrow_mut().push(condition);
    }

    /// Removes the condition that waits under `wait`.
    pub(crate) fn remove(&self, wait: u64) {
        let mut conditions = self.0.borrow_mut();
        let at = conditions.iter().position(|c| c.wait == wait);
        let removed = at.map(|at| conditions.remove(at));
        drop(conditions);
        drop(removed);
    }

    /// Takes the conditions that have come true.
    pub(super) fn take_met(&self) -> Vec<Condition> {
        if self.0.borrow().is_empty() {
            return Vec::new();
        }
        // A condition is code of the author's.
        let conditions = self.0.take();
        let (met, others) = conditions.into_iter().partition(Condition::look);
        *self.0.borrow_mut() = others;
        met
    }

    pub(super) fn clear(&self) {
        self.0.take();
    }
}
