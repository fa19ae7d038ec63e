//! The fate of workflows whose caller does not wait for them any more.

use std::rc::Rc;
use std::time::Duration;

use crate::codes;
use crate::testing::run::caller::Caller;
use crate::testing::run::{Run, no_execution};
use crate::testing::world::World;
use crate::wire::{self, NIL, Outcome, Settled};

impl Run {
    /// Says that an op is not waited for any more.
    pub(super) fn give_up(&self, op: u32) {
        self.stop_callees(|caller| caller.op == op);
    }

    /// Marks the run as ended: it waits for nothing any more.
    pub(super) fn give_up_all(&self) {
        self.stop_callees(|_| true);
    }

    /// Applies the policy of calls to callees of the run, once the turn has ended.
    fn stop_callees(&self, given: impl Fn(&Caller) -> bool) {
        let mut reason = format!("{} does not wait for it any more", self.id);
        if let Some(why) = self.stop.borrow().as_ref().filter(|why| !why.is_empty()) {
            reason = format!("{reason}: {why}");
        }
        let world = self.world();
        for callee in world.runs_that_are_not_over() {
            let policy = match &*callee.caller.borrow() {
                Some(caller) if caller.execution == self.id && given(caller) => {
                    caller.policy.clone()
                }
                _ => continue,
            };
            let reason = reason.clone();
            match policy.as_str() {
                "cancel" => {
                    callee.given_up.set(true);
                    world.after(Duration::ZERO, move || callee.interrupt_once(&reason));
                }
                "terminate" => world.after(Duration::ZERO, move || callee.terminate(&reason)),
                _ => {}
            }
        }
    }

    /// Ends the run without asking it.
    fn terminate(&self, reason: &str) {
        if self.outcome().is_none() {
            self.finish(Outcome::failed(codes::TERMINATED.fault(reason)));
        }
    }

    /// Asks the run to stop, unless it was asked before.
    fn interrupt_once(&self, reason: &str) {
        let asked = self.stop.borrow().is_some();
        if !asked {
            self.interrupt(reason);
        }
    }

    /// Whether it was given up and cleans up.
    pub(crate) fn is_stopping(&self) -> bool {
        self.given_up.get() && self.outcome().is_none()
    }
}

impl World<Run> {
    /// Asks an execution to stop.
    pub(crate) fn interrupt(&self, body: &wire::Interrupt) -> Settled {
        let Some(run): Option<Rc<Run>> = self.run(&body.execution) else {
            return Err(no_execution(&body.execution));
        };
        let asked = run.stop.borrow().is_some();
        if !asked && run.outcome().is_some() {
            let message = format!("{} is {}", run.id, run.state());
            return Err(codes::ALREADY_OVER.fault(message));
        }
        run.interrupt_once(&body.reason);
        Ok(NIL.to_vec())
    }
}
