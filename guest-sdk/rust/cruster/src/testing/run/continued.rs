//! Runs of an execution that take the place of others.

use std::time::Duration;

use crate::testing::history::History;
use crate::testing::request;
use crate::testing::run::Run;
use crate::wire::{Continue, Outcome};

impl Run {
    /// Begins the next run of the execution. Ops are counted on, so that events planned for the run
    /// before do not reach this one.
    pub(super) fn continue_as_new(&self, outcome: &Outcome, next: Continue) {
        let world = self.world();
        let checked = match self.definition() {
            Some(workflow) => request::check(workflow, &next.input.unwrap_or_default()),
            None => Ok(Vec::new()),
        };
        let input = match checked {
            Ok(input) => input,
            Err(misfit) => return self.finish(Outcome::failed(misfit)),
        };
        self.unlock();
        self.give_up_all();
        self.pending.borrow_mut().clear();
        self.limits.clear();
        self.steps.borrow_mut().clear();
        self.deferreds.borrow_mut().clear();
        self.mailbox.borrow_mut().forget_ops();
        self.carry_updates();
        self.interrupt_op.set(0);
        let ended = self.take_history(outcome);
        let begun = History {
            input,
            unread: next.unread.unwrap_or_default(),
            run: ended.run + 1,
            start: world.now(),
            events: Vec::new(),
            ..ended.clone()
        };
        self.earlier.borrow_mut().push(ended);
        *self.history.borrow_mut() = begun;
        let run = self.me();
        world.after(Duration::ZERO, move || run.begin());
    }
}
