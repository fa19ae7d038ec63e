//! Updates of the executions of a test.

use std::cell::Cell;
use std::time::Duration;

use crate::codes;
use crate::error::{Error, Result};
use crate::payload;
use crate::testing::api::Api;
use crate::testing::places::Moment;
use crate::testing::request;
use crate::testing::run::{Run, encode, no_execution};
use crate::testing::test::Test;
use crate::testing::update_inbox::{Sent, Updates};
use crate::testing::words::{names, undeclared};
use crate::update::Update;
use crate::wire::{self, Delivery, Settled, UpdateRequest, Wire};

impl Run {
    /// Sends the execution an update, if the host would.
    fn update(&self, name: &str, input: &[u8], tell: Box<dyn FnOnce(Settled)>) {
        let input = match self.accept_update(name, input) {
            Ok(input) => input,
            Err(fault) => return tell(Err(fault)),
        };
        let mut updates = self.updates.borrow_mut();
        updates.sent += 1;
        let request = UpdateRequest {
            id: format!("{:032x}", updates.sent),
            input: Some(input),
            name: name.to_owned(),
        };
        updates.inbox.push_back(Sent { request, tell });
        drop(updates);
        self.plan_update();
    }

    fn accept_update(&self, name: &str, input: &[u8]) -> Settled {
        let workflow = &self.kind.workflow;
        let updates = self.definition().map_or(&[][..], |w| w.updates);
        let Some(update) = updates.iter().find(|u| u.name == name) else {
            let known = names(updates.iter().map(|u| u.name));
            let code = &codes::UNKNOWN_UPDATE;
            return Err(undeclared(code, workflow, "update", name, &known, &[]));
        };
        let input = request::fit("the input", update.input, input)?;
        if self.outcome().is_some() {
            let message = format!("{} is {}", self.id, self.state());
            return Err(codes::ALREADY_OVER.fault(message));
        }
        if update.validated && self.parked() {
            let query = wire::Query {
                input: Some(input.clone()),
                name: name.to_owned(),
                update: true,
            };
            self.ask_copy(&query).into_result()?;
        }
        Ok(input)
    }

    /// An op asks for the next update.
    pub(crate) fn take_update(&self, op: u32) {
        self.updates.borrow_mut().op = op;
        self.plan_update();
    }

    fn plan_update(&self) {
        let updates = self.updates.borrow();
        let op = updates.op;
        if op != 0 && !updates.inbox.is_empty() {
            drop(updates);
            let run = self.me();
            let issued = self.issued(op);
            let hand_over = move || run.hand_update_over(op);
            self.world()
                .deliver_after(Duration::ZERO, issued, hand_over);
        }
    }

    fn hand_update_over(&self, op: u32) {
        let mut updates = self.updates.borrow_mut();
        if !self.waits(op) || updates.op != op {
            return;
        }
        let Some(sent) = updates.inbox.pop_front() else {
            return;
        };
        let value = Some(sent.request.encode());
        updates.op = 0;
        updates.held.push(sent);
        drop(updates);
        let error = None;
        self.resume(Delivery { error, op, value });
    }

    /// Answers an update. An answered update is none of the held.
    pub(crate) fn answer(&self, answer: wire::Answer) {
        let mut updates = self.updates.borrow_mut();
        let at = updates.held.iter().position(|s| s.request.id == answer.id);
        let sent = at.map(|at| updates.held.remove(at));
        drop(updates);
        if let Some(sent) = sent {
            (sent.tell)(
                answer
                    .error
                    .map_or_else(|| Ok(answer.value.unwrap_or_default()), Err),
            );
        }
    }

    /// Gives the updates that were not answered to the next run.
    pub(crate) fn carry_updates(&self) {
        let mut updates = self.updates.borrow_mut();
        updates.op = 0;
        for sent in std::mem::take(&mut updates.held).into_iter().rev() {
            updates.inbox.push_front(sent);
        }
    }

    /// Tells waiting callers that there will be no answer.
    pub(crate) fn leave_updates_unanswered(&self) {
        let Updates { inbox, held, .. } = self.updates.take();
        for sent in held.into_iter().chain(inbox) {
            let message = format!(
                "{} is {}, and has not answered the update",
                self.id,
                self.state()
            );
            (sent.tell)(Err(codes::UPDATE_UNANSWERED.fault(message)));
        }
    }

    fn send_update<U: Update>(&self, input: &[u8], tell: impl FnOnce(Result<U::Answer>) + 'static) {
        let tell = move |answer: Settled| {
            let misfit = format_args!("the result of update {} does not fit", U::NAME);
            tell(match answer {
                Ok(value) => payload::decode(&value, &codes::BAD_BODY, misfit),
                Err(fault) => Err(Error::from_fault(fault)),
            });
        };
        self.update(U::NAME, input, Box::new(tell));
    }
}

fn input_of<U: Update>(update: &U) -> Vec<u8> {
    encode(&format!("the input of update {}", U::NAME), update)
}

impl Test {
    /// Sends the execution an update at a virtual time after its start, and hands the answer to
    /// a closure once it is there, or the error that a host would answer with.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # use cruster::testing::Test;
    /// # use std::{cell::Cell, rc::Rc};
    /// # #[derive(Serialize, Deserialize, Schema, Update)]
    /// # #[update(answer = u32)]
    /// # pub struct Add(u32);
    /// # #[workflow]
    /// # pub struct Sum;
    /// #[workflow_impl(updates(Add))]
    /// impl Sum {
    ///     async fn execute(&self, wanted: u32) -> Result<u32, Error> {
    ///         let sum = Rc::new(Cell::new(0));
    ///         let changed = sum.clone();
    ///         self.on_update(move |add: Add| {
    ///             changed.set(changed.get() + add.0);
    ///             let sum = changed.get();
    ///             async move { sum }
    ///         });
    ///         let seen = sum.clone();
    ///         self.until(move || seen.get() >= wanted).await?;
    ///         Ok(sum.get())
    ///     }
    /// }
    ///
    /// cruster::module! { workflows: [Sum] }
    ///
    /// // In a test:
    /// # fn main() {
    /// let run = Test::new(&MODULE)
    ///     .update_after(Duration::from_secs(1), Add(2), |sum| assert_eq!(sum.unwrap(), 2))
    ///     .update_after(Duration::from_secs(2), Add(5), |sum| assert_eq!(sum.unwrap(), 7))
    ///     .run::<Sum>(6);
    /// assert_eq!(run.result.unwrap(), 7);
    /// # }
    /// ```
    pub fn update_after<U: Update>(
        self,
        time: Duration,
        update: U,
        tell: impl FnOnce(Result<U::Answer>) + 'static,
    ) -> Self {
        self.update_at(Moment::After(time), update, tell)
    }

    pub(crate) fn update_at<U: Update>(
        self,
        moment: Moment,
        update: U,
        tell: impl FnOnce(Result<U::Answer>) + 'static,
    ) -> Self {
        let (input, tell) = (input_of(&update), Cell::new(Some(tell)));
        self.question(moment, move |run| {
            if let Some(tell) = tell.take() {
                run.send_update::<U>(&input, tell);
            }
        })
    }
}

impl Api {
    /// Sends an update to an execution, which is named by its id, and hands the answer to a closure
    /// once it is there. The errors are a host's.
    pub fn update<U: Update>(
        &self,
        execution: &str,
        update: U,
        tell: impl FnOnce(Result<U::Answer>) + 'static,
    ) -> Result<()> {
        let run = self.world()?.run(execution);
        let run = run.ok_or_else(|| Error::from_fault(no_execution(execution)))?;
        run.send_update::<U>(&input_of(&update), tell);
        Ok(())
    }
}
