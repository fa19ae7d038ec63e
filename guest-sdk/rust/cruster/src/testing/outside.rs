//! Events of an execution from outside.

use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;

use crate::codes;
use crate::deferred::Deferred;
use crate::entity::StatefulEntity;
use crate::error::Error;
use crate::signal::Signal;
use crate::testing::api::Api;
use crate::testing::entities::{self, Entities};
use crate::testing::outside_event::OutsideEvent;
use crate::testing::places::Moment;
use crate::testing::published::Published;
use crate::testing::run::{self, Run};
use crate::testing::test::Test;
use crate::testing::world::World;

impl Test {
    /// Resolves a deferred of the execution from outside, at a virtual time after
    /// its start.
    ///
    /// # Panics
    ///
    /// The run panics if a host would refuse that.
    pub fn resolve_after<T: Serialize>(
        self,
        time: Duration,
        deferred: Deferred<T>,
        value: T,
    ) -> Self {
        self.resolve_at(Moment::After(time), deferred, value)
    }

    pub(crate) fn resolve_at<T: Serialize>(
        self,
        moment: Moment,
        deferred: Deferred<T>,
        value: T,
    ) -> Self {
        let name = deferred.name().to_owned();
        let value = run::encode(&format!("the value of deferred {name}"), &value);
        self.outside(moment, move |run| {
            run.settle_from_test(&name, Ok(value.clone()));
        })
    }

    /// Rejects a deferred of the execution from outside, at a virtual time after its
    /// start.
    ///
    /// # Panics
    ///
    /// The run panics if a host would refuse that.
    pub fn reject_after<T>(
        self,
        time: Duration,
        deferred: Deferred<T>,
        error: impl Into<Error>,
    ) -> Self {
        self.reject_at(Moment::After(time), deferred, error)
    }

    pub(crate) fn reject_at<T>(
        self,
        moment: Moment,
        deferred: Deferred<T>,
        error: impl Into<Error>,
    ) -> Self {
        let name = deferred.name().to_owned();
        let fault = error.into().under(&codes::DEFERRED_REJECTED);
        self.outside(moment, move |run| {
            run.settle_from_test(&name, Err(fault.clone()));
        })
    }

    /// Sends the execution a signal before it starts.
    ///
    /// # Panics
    ///
    /// The run panics if a host would refuse the signal.
    pub fn signal<S: Signal>(mut self, value: S) -> Self {
        let value = run::encode(&format!("the value of signal {}", S::NAME), &value);
        self.config.signals.push((S::NAME, value));
        self
    }

    /// Sends the execution a signal at a virtual time after its start.
    ///
    /// # Panics
    ///
    /// The run panics if a host would refuse the signal.
    pub fn signal_after<S: Signal>(self, time: Duration, value: S) -> Self {
        self.signal_at(Moment::After(time), value)
    }

    pub(crate) fn signal_at<S: Signal>(self, moment: Moment, value: S) -> Self {
        let value = run::encode(&format!("the value of signal {}", S::NAME), &value);
        self.outside(moment, move |run| run.send_from_test(S::NAME, &value))
    }

    /// Gives an entity a state before the test.
    pub fn entity<S: StatefulEntity>(mut self, id: &str, state: &S) -> Self {
        self.config.entities.push(entities::stored(id, state));
        self
    }

    /// The entities of the module alone, for tests that call them directly.
    pub fn entities(self) -> Entities {
        let world = World::new(self.module, self.config);
        self.api.open(&world);
        Entities(world)
    }

    /// The API of the simulated host, for stubs and handlers that act as clients of it
    /// while the execution runs.
    pub fn api(&self) -> Api {
        self.api.clone()
    }

    /// Interrupts the execution at a virtual time after its start.
    pub fn interrupt_after(self, time: Duration, reason: &str) -> Self {
        self.interrupt_at(Moment::After(time), reason)
    }

    pub(crate) fn interrupt_at(self, moment: Moment, reason: &str) -> Self {
        let reason = reason.to_owned();
        self.outside(moment, move |run| run.interrupt(&reason))
    }

    /// Looks at the published values of the execution, at a virtual time after its start.
    pub fn look_after(self, time: Duration, look: impl Fn(&Published) + 'static) -> Self {
        self.look_at(Moment::After(time), look)
    }

    pub(crate) fn look_at(self, moment: Moment, look: impl Fn(&Published) + 'static) -> Self {
        self.outside(moment, move |run| look(&run.published.borrow()))
    }

    pub(crate) fn outside(self, when: Moment, apply: impl Fn(&Run) + 'static) -> Self {
        self.plan(when, apply, false)
    }

    /// Plans a question. It is put again after the end, if it was not put before.
    pub(crate) fn question(self, when: Moment, ask: impl Fn(&Run) + 'static) -> Self {
        self.plan(when, ask, true)
    }

    fn plan(mut self, when: Moment, apply: impl Fn(&Run) + 'static, question: bool) -> Self {
        self.outside.push(OutsideEvent {
            when,
            apply: Rc::new(apply),
            question,
        });
        self
    }
}
