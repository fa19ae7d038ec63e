//! Parts of a workflow that are bounded, joined and given up.

mod joins;
mod tasks;
mod waits;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cruster::prelude::*;

use joins::Maps;
use tasks::Tasks;
use waits::Waits;

cruster::module! { workflows: [Maps, Tasks, Waits] }

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The events, in order; and how many are inside at a time.
#[derive(Clone, Default)]
struct Trace {
    lines: Rc<RefCell<Vec<String>>>,
    now: Rc<Cell<usize>>,
    most: Rc<Cell<usize>>,
}

impl Trace {
    fn note(&self, line: impl ToString) {
        self.lines.borrow_mut().push(line.to_string());
    }

    fn enter(&self) -> Inside {
        self.now.set(self.now.get() + 1);
        self.most.set(self.most.get().max(self.now.get()));
        Inside(self.now.clone())
    }

    fn take(&self) -> Vec<String> {
        self.lines.take()
    }
}

struct Inside(Rc<Cell<usize>>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

fn told<T: ToString>(result: Result<T>) -> String {
    result.map_or_else(|e| e.to_string(), |v| v.to_string())
}
