//! Events at a place of the workflow, in contrast to events at a time.

use serde::Serialize;

use crate::deferred::Deferred;
use crate::error::{Error, Result};
use crate::query::Query;
use crate::signal::Signal;
use crate::testing::places::Moment;
use crate::testing::published::Published;
use crate::testing::test::Test;
use crate::update::Update;

impl Test {
    /// An event when the execution reaches a place: an op that it issues. The place is its form in
    /// [`History::steps`](super::History::steps), such as `activity charge`; or its kind alone,
    /// such as `sleep`; or its name alone, such as a deferred's. It happens once the workflow
    /// waits, at the time of the op and before anything is delivered.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # use cruster::testing::Test;
    /// # #[derive(Serialize, Deserialize, Schema, Signal)]
    /// # pub struct Word(String);
    /// # #[workflow]
    /// # pub struct Greet;
    /// #[workflow_impl(signals(Word))]
    /// impl Greet {
    ///     async fn execute(&self, seconds: u64) -> Result<String, Error> {
    ///         let first = self.receive::<Word>().await?;
    ///         self.sleep(Duration::from_secs(seconds)).await?;
    ///         let second = self.receive::<Word>().await?;
    ///         Ok(format!("{} {}", first.0, second.0))
    ///     }
    /// }
    ///
    /// cruster::module! { workflows: [Greet] }
    ///
    /// // In a test:
    /// # fn main() {
    /// let run = Test::new(&MODULE)
    ///     .when("receive word").signal(Word("hello".to_owned()))
    ///     .when("receive word").nth(2).signal(Word("world".to_owned()))
    ///     .run::<Greet>(3600);
    /// assert_eq!(run.result.unwrap(), "hello world");
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// The run panics if the execution ends without having reached the place, and lists the places
    /// it reached.
    pub fn when(self, place: &str) -> When {
        When {
            test: self,
            place: place.to_owned(),
            nth: 1,
        }
    }
}

/// A place of an execution, at which something happens; see [`Test::when`].
#[must_use = "nothing happens at a place unless the test says what"]
pub struct When {
    test: Test,
    place: String,
    nth: usize,
}

impl When {
    /// Means the n-th time that the place is reached, from 1. Runs that
    /// [continue](crate::WorkflowContext::continue_as_new) the execution count on.
    ///
    /// # Panics
    ///
    /// If n is 0.
    pub fn nth(mut self, n: usize) -> Self {
        assert!(n > 0, "the first time has the number 1");
        self.nth = n;
        self
    }

    fn at(self) -> (Test, Moment) {
        let (place, nth) = (self.place, self.nth);
        (self.test, Moment::At { place, nth })
    }

    /// Sends the execution a signal; see [`Test::signal_after`].
    pub fn signal<S: Signal>(self, value: S) -> Test {
        let (test, moment) = self.at();
        test.signal_at(moment, value)
    }

    /// Resolves a deferred of the execution; see [`Test::resolve_after`].
    pub fn resolve<T: Serialize>(self, deferred: Deferred<T>, value: T) -> Test {
        let (test, moment) = self.at();
        test.resolve_at(moment, deferred, value)
    }

    /// Rejects a deferred of the execution; see [`Test::reject_after`].
    pub fn reject<T>(self, deferred: Deferred<T>, error: impl Into<Error>) -> Test {
        let (test, moment) = self.at();
        test.reject_at(moment, deferred, error)
    }

    /// Interrupts the execution; see [`Test::interrupt_after`].
    pub fn interrupt(self, reason: &str) -> Test {
        let (test, moment) = self.at();
        test.interrupt_at(moment, reason)
    }

    /// Asks the execution a question; see [`Test::query_after`].
    pub fn query<Q: Query>(self, query: Q, tell: impl FnOnce(Result<Q::Answer>) + 'static) -> Test {
        let (test, moment) = self.at();
        test.query_at(moment, query, tell)
    }

    /// Sends the execution an update; see [`Test::update_after`].
    pub fn update<U: Update>(
        self,
        update: U,
        tell: impl FnOnce(Result<U::Answer>) + 'static,
    ) -> Test {
        let (test, moment) = self.at();
        test.update_at(moment, update, tell)
    }

    /// Looks at the published values of the execution; see [`Test::look_after`].
    pub fn look(self, look: impl Fn(&Published) + 'static) -> Test {
        let (test, moment) = self.at();
        test.look_at(moment, look)
    }
}
