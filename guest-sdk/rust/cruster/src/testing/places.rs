//! The places of the workflow under test, and the events planned at them.

use std::cell::{Cell, RefCell};
use std::time::Duration;

/// When something happens to the execution under test.
#[derive(Clone)]
pub(crate) enum Moment {
    /// At a time after its start.
    After(Duration),
    /// Once it has reached a place for the n-th time.
    At { place: String, nth: usize },
}

/// The places that the execution under test has reached, and the events planned at others.
pub(crate) struct Places<T> {
    /// The ops that were issued, as kind and name.
    reached: RefCell<Vec<(String, String)>>,
    waiting: RefCell<Vec<Waiting<T>>>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Places {
            reached: RefCell::default(),
            waiting: RefCell::default(),
        }
    }
}

struct Waiting<T> {
    place: String,
    nth: usize,
    /// How often it has yet to be reached.
    left: Cell<usize>,
    happens: T,
}

impl<T: Clone> Places<T> {
    /// Has something happen at a place.
    pub(crate) fn plan(&self, place: &str, nth: usize, happens: T) {
        self.waiting.borrow_mut().push(Waiting {
            place: place.to_owned(),
            nth,
            left: Cell::new(nth),
            happens,
        });
    }

    /// Notes an issued op; returns the events due now.
    pub(crate) fn reach(&self, kind: &str, name: &str) -> Vec<T> {
        let mut due = Vec::new();
        let is_here = |place: &str| {
            place == kind || place == name || place == format!("{kind} {name}").trim_end()
        };
        for waiting in self.waiting.borrow().iter() {
            if waiting.left.get() > 0 && is_here(&waiting.place) {
                waiting.left.set(waiting.left.get() - 1);
                if waiting.left.get() == 0 {
                    due.push(waiting.happens.clone());
                }
            }
        }
        self.reached
            .borrow_mut()
            .push((kind.to_owned(), name.to_owned()));
        due
    }

    /// Panics if a place was not reached: the test says that it is.
    #[track_caller]
    pub(crate) fn check(&self) {
        let waiting = self.waiting.borrow();
        let Some(missed) = waiting.iter().find(|w| w.left.get() > 0) else {
            return;
        };
        let times = match missed.nth {
            1 => String::new(),
            n => format!(" {n} times, but {}", n - missed.left.get()),
        };
        let reached = self.reached.borrow();
        let reached: Vec<String> = reached
            .iter()
            .map(|(kind, name)| format!("{kind} {name}").trim_end().to_owned())
            .collect();
        panic!(
            "the workflow did not reach {:?}{times}; it reached: {}",
            missed.place,
            match reached.is_empty() {
                true => "nothing".to_owned(),
                false => reached.join(", "),
            }
        );
    }
}
