//! Events at a place of the workflow, in contrast to events at a time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use serde::Serialize;

use crate::deferred::Deferred;
use crate::error::{Error, Result};
use crate::query::Query;
use crate::signal::Signal;
use crate::testing::Test;
use crate::testing::published::Published;
use crate::testing::run::Run;
use crate::update::Update;

/// An event of an execution.
pub(crate) type Apply = Rc<dyn Fn(&Run)>;

/// When something happens to the execution under test.
#[derive(Clone)]
pub(crate) enum Moment {
    /// At a time after its start.
    After(std::time::Duration),
    /// Once it has reached a place for the n-th time.
    At { place: String, nth: usize },
}

/// The places that the execution under test has reached, and the events planned at others.
#[derive(Default)]
pub(crate) struct Places {
    /// The ops that were issued, as kind and name.
    reached: RefCell<Vec<(String, String)>>,
    waiting: RefCell<Vec<Waiting>>,
}

struct Waiting {
    place: String,
    nth: usize,
    /// How often it has yet to be reached.
    left: Cell<usize>,
    apply: Apply,
}

impl Places {
    /// Has something happen at a place.
    pub(crate) fn plan(&self, place: &str, nth: usize, apply: Apply) {
        self.waiting.borrow_mut().push(Waiting {
            place: place.to_owned(),
            nth,
            left: Cell::new(nth),
            apply,
        });
    }

    /// Notes an issued op; returns the events due now.
    pub(crate) fn reach(&self, kind: &str, name: &str) -> Vec<Apply> {
        let mut happens = Vec::new();
        let is_here = |place: &str| {
            place == kind || place == name || place == format!("{kind} {name}").trim_end()
        };
        for waiting in self.waiting.borrow().iter() {
            if waiting.left.get() > 0 && is_here(&waiting.place) {
                waiting.left.set(waiting.left.get() - 1);
                if waiting.left.get() == 0 {
                    happens.push(waiting.apply.clone());
                }
            }
        }
        self.reached
            .borrow_mut()
            .push((kind.to_owned(), name.to_owned()));
        happens
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
