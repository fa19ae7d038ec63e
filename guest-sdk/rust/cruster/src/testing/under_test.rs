//! The execution under test, from its start to its end.

use std::rc::Rc;

use crate::codes;
use crate::testing::history::History;
use crate::testing::mailbox::Unread;
use crate::testing::outside_event::OutsideEvent;
use crate::testing::places::Moment;
use crate::testing::published::Published;
use crate::testing::request;
use crate::testing::run::{Run, RunKind};
use crate::testing::starts::derive_key;
use crate::testing::world::World;
use crate::wire::Outcome;

/// How many events a test lets happen before it counts as one without an end.
const MAX_EVENTS: usize = 100_000;

impl World<Run> {
    /// Runs a workflow to its end.
    #[track_caller]
    pub(crate) fn execute(
        self: &Rc<Self>,
        workflow: &str,
        body: Vec<u8>,
        outside: &[OutsideEvent],
    ) -> Ended {
        let deployment = &self.config.deployment;
        let found = self.workflow(deployment, workflow);
        let kind = RunKind::of(deployment, workflow, found.as_ref().ok().copied());
        let checked = found.and_then(|found| {
            let body = request::check(found.1, &body)?;
            let key = derive_key(Some(found), &body)?;
            Ok((body, key))
        });
        let (body, key) = match checked {
            Ok((body, key)) => (body, Ok(key)),
            Err(refused) => (body, Err(refused)),
        };
        let id = self.config.execution_id.clone().unwrap_or_else(|| {
            let key = key.as_deref().unwrap_or("bad-key");
            format!("{deployment}/{workflow}/{key}")
        });
        let root = self.add_run(id, kind, body);
        match key {
            Err(fault) => root.finish(Outcome::failed(fault)),
            Ok(_) => {
                self.plan_outside(&root, outside);
                for (name, value) in &self.config.signals {
                    root.send_from_test(name, value);
                }
                root.begin();
                self.turn(&root);
            }
        }
        let outcome = root.outcome().unwrap_or_default();
        let history = root.take_history(&outcome);
        let unread = root.unread();
        root.places.check();
        for event in outside.iter().filter(|e| e.question) {
            (event.apply)(&root);
        }
        self.finish_calls();
        self.let_callees_stop();
        self.close();
        Ended {
            outcome,
            history,
            unread,
            published: root.published.borrow().clone(),
            earlier: root.earlier(),
        }
    }

    fn plan_outside(&self, root: &Rc<Run>, outside: &[OutsideEvent]) {
        for event in outside {
            let (apply, target) = (event.apply.clone(), root.clone());
            match &event.when {
                Moment::After(time) => {
                    let at = self.up(self.now() + *time);
                    self.after(at - self.now(), move || apply(&target));
                }
                Moment::At { place, nth } => root.places.plan(place, *nth, apply),
            }
        }
    }

    /// Lets time pass until the execution ends.
    fn turn(&self, root: &Run) {
        while root.outcome().is_none() {
            // A module would end here too, regardless of the test's plans.
            if root.stuck() || !self.happens_next() {
                let message = match root.stuck() {
                    true => root.deadlock(),
                    false => format!(
                        "the workflow waits for ever: nothing is left that could happen, and it waits for {}",
                        root.waits_for()
                    ),
                };
                root.finish(Outcome::failed(codes::GUEST_DEADLOCK.fault(message)));
                return;
            }
        }
    }

    /// Lets abandoned ones clean up.
    fn let_callees_stop(&self) {
        while self.runs_that_are_not_over().any(|run| run.is_stopping()) {
            if !self.happens_next() {
                return;
            }
        }
    }

    pub(crate) fn runs_that_are_not_over(&self) -> impl Iterator<Item = Rc<Run>> + use<> {
        self.runs()
            .into_iter()
            .filter(|run| run.outcome().is_none())
    }

    /// Lets everything happen that is planned.
    pub(crate) fn settle(self: &Rc<Self>) {
        for _ in 0..MAX_EVENTS {
            if !self.happens_next() {
                return;
            }
        }
        panic!("there is no end of what happens: more than {MAX_EVENTS} events");
    }

    /// Breaks the cycles between the executions and their planned events.
    fn close(&self) {
        self.forget_events();
        for run in self.take_runs() {
            run.close();
        }
    }
}

/// The end of the execution under test.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) history: History,
    pub(crate) unread: Vec<Unread>,
    pub(crate) published: Published,
    pub(crate) earlier: Vec<History>,
}
