//! Queries to the executions of a test.
//!
//! A host asks a copy of the workflow, so that an answer changes nothing. The kit does too: it
//! runs the workflow again up to where it is, against its history, and asks that one.

use std::cell::Cell;
use std::time::Duration;

use crate::codes;
use crate::error::{Error, Result};
use crate::logging;
use crate::payload;
use crate::query::Query;
use crate::testing::api::Api;
use crate::testing::panics;
use crate::testing::places::Moment;
use crate::testing::replay;
use crate::testing::request;
use crate::testing::run::{Run, encode, no_execution};
use crate::testing::test::Test;
use crate::testing::watchdog;
use crate::testing::words::{names, undeclared};
use crate::wire::{self, Outcome, Settled};

impl Run {
    /// Asks the workflow, as a host does.
    pub(crate) fn query(&self, name: &str, input: &[u8]) -> Settled {
        let workflow = &self.kind.workflow;
        let queries = self.definition().map_or(&[][..], |w| w.queries);
        let Some(query) = queries.iter().find(|q| q.name == name) else {
            let known = names(queries.iter().map(|q| q.name));
            let code = &codes::UNKNOWN_QUERY;
            return Err(undeclared(code, workflow, "query", name, &known, &[]));
        };
        let input = request::fit("the input", query.input, input)?;
        if self.outcome().is_some() {
            let message = format!("{} is {}", self.id, self.state());
            return Err(codes::ALREADY_OVER.fault(message));
        }
        if !self.parked() {
            let message = format!("{} has not begun", self.id);
            return Err(codes::QUERY_NOT_READY.fault(message));
        }
        let query = wire::Query {
            input: Some(input),
            name: name.to_owned(),
            update: false,
        };
        self.ask_copy(&query).into_result()
    }

    pub(crate) fn ask_copy(&self, query: &wire::Query) -> Outcome {
        let copy = {
            // It has logged all that before.
            let _quiet = logging::silence();
            replay::copy(&self.history_so_far()).unwrap_or_else(|difference| panic!("{difference}"))
        };
        let _log = logging::scope(self.world().now(), &self.id);
        let _watched = watchdog::other(
            format!("the answer to query {}", query.name),
            self.world().config.turn_limit,
        );
        panics::caught(|| copy.query(query)).unwrap_or_else(|panic| {
            let message = format!("the answer to query {} {panic}", query.name);
            Outcome::failed(codes::GUEST_TRAP.fault(message))
        })
    }

    fn ask<Q: Query>(&self, input: &[u8]) -> Result<Q::Answer> {
        let answer = self.query(Q::NAME, input).map_err(Error::from_fault)?;
        let misfit = format_args!("the answer to query {} does not fit", Q::NAME);
        payload::decode(&answer, &codes::BAD_BODY, misfit)
    }
}

fn input_of<Q: Query>(query: &Q) -> Vec<u8> {
    encode(&format!("the input of query {}", Q::NAME), query)
}

impl Test {
    /// Asks the execution a question at a virtual time after its start, and hands the answer to a
    /// closure, or the error that a host would answer with. If the execution has ended by then, the
    /// error is `CR-2012`.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # use cruster::testing::Test;
    /// # use std::{cell::Cell, rc::Rc};
    /// # #[derive(Serialize, Deserialize, Schema, Query)]
    /// # #[query(answer = u32)]
    /// # pub struct DaysLeft;
    /// # #[workflow]
    /// # pub struct Countdown;
    /// #[workflow_impl(queries(DaysLeft))]
    /// impl Countdown {
    ///     async fn execute(&self, days: u32) -> Result<(), Error> {
    ///         let left = Rc::new(Cell::new(days));
    ///         let seen = left.clone();
    ///         self.answer(move |_: DaysLeft| seen.get());
    ///         while left.get() > 0 {
    ///             self.sleep(Duration::from_secs(86_400)).await?;
    ///             left.set(left.get() - 1);
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// cruster::module! { workflows: [Countdown] }
    ///
    /// // In a test:
    /// # fn main() {
    /// let run = Test::new(&MODULE)
    ///     .query_after(Duration::from_secs(100_000), DaysLeft, |left| assert_eq!(left.unwrap(), 2))
    ///     .run::<Countdown>(3);
    /// run.result.unwrap();
    /// # }
    /// ```
    pub fn query_after<Q: Query>(
        self,
        time: Duration,
        query: Q,
        tell: impl FnOnce(Result<Q::Answer>) + 'static,
    ) -> Self {
        self.query_at(Moment::After(time), query, tell)
    }

    pub(crate) fn query_at<Q: Query>(
        self,
        moment: Moment,
        query: Q,
        tell: impl FnOnce(Result<Q::Answer>) + 'static,
    ) -> Self {
        let (input, tell) = (input_of(&query), Cell::new(Some(tell)));
        self.question(moment, move |run| {
            if let Some(tell) = tell.take() {
                tell(run.ask::<Q>(&input));
            }
        })
    }
}

impl Api {
    /// Asks an execution a question, which is named by its id. The errors are a host's.
    pub fn query<Q: Query>(&self, execution: &str, query: Q) -> Result<Q::Answer> {
        let run = self.world()?.run(execution);
        let run = run.ok_or_else(|| Error::from_fault(no_execution(execution)))?;
        run.ask::<Q>(&input_of(&query))
    }
}
