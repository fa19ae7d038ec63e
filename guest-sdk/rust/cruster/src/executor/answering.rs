//! The answers of a workflow to queries.

use std::cell::Cell;
use std::rc::Rc;

use crate::codes;
use crate::error::Result;
use crate::named::{Named, find, replace};
use crate::wire::Fault;

/// Answers a query: its input and its answer are encoded.
pub(crate) type Run = Rc<dyn Fn(&[u8]) -> Result<Vec<u8>>>;

/// How a workflow answers queries.
#[derive(Default)]
pub(crate) struct Answering {
    answers: Named<Run>,
    now: Cell<Now>,
}

/// The current state of the workflow.
#[derive(Default, Clone, Copy, PartialEq)]
enum Now {
    /// The workflow runs, or waits.
    #[default]
    Else,
    /// It answers a query.
    Looks,
    /// It answers a query, and the answer has made a durable call.
    Acts,
}

impl Answering {
    pub(crate) fn set(&self, name: &'static str, run: Run) {
        // The closure before it may run any code when it is dropped.
        let before = replace(&self.answers, name, run);
        drop(before);
    }

    pub(crate) fn find(&self, name: &str) -> Option<Run> {
        find(&self.answers, name)
    }

    pub(super) fn clear(&self) {
        let answers = self.answers.take();
        drop(answers);
    }

    /// Whether a durable call is refused, because an answer makes it.
    pub(crate) fn refuses(&self) -> bool {
        let refused = self.now.get() != Now::Else;
        if refused {
            self.now.set(Now::Acts);
        }
        refused
    }

    /// An answer begins: durable calls are refused.
    pub(crate) fn begin(&self) {
        self.now.set(Now::Looks);
    }

    /// An answer ends; returns whether a durable call was refused meanwhile.
    pub(crate) fn end(&self) -> bool {
        self.now.replace(Now::Else) == Now::Acts
    }
}

/// Why durable calls fail in an answer.
pub(crate) fn refusal() -> Box<Fault> {
    let message = "durable calls are not available in the answer to a query";
    let mut fault = codes::WRONG_CONTEXT.fault(message);
    fault.hint =
        "A query only looks. Send the workflow a signal to have it do something.".to_owned();
    fault
}
