//! The run of a test, and its end.

use serde::de::DeserializeOwned;

use crate::codec;
use crate::error::{Error, Result};
use crate::testing::entities::Entities;
use crate::testing::history::History;
use crate::testing::mailbox::Unread;
use crate::testing::published::Published;
use crate::testing::run;
use crate::testing::test::Test;
use crate::testing::world::World;
use crate::value::Value;
use crate::wire::Wire;
use crate::workflow::Workflow;

/// The end of an execution.
#[derive(Debug)]
pub struct Finished<T> {
    /// The result, or the error that a client would see. If the execution was
    /// interrupted, [`Error::is_interrupted`] is true.
    pub result: Result<T>,
    /// The events of the execution.
    pub history: History,
    /// The signals that it was sent and had not received by its end.
    pub unread: Vec<Unread>,
    /// The entities, as they are at the end.
    pub entities: Entities,
    /// Its published values.
    pub published: Published,
    /// The events of the runs that it [continued](crate::WorkflowContext::continue_as_new), the
    /// first one first.
    pub earlier: Vec<History>,
}

impl Test {
    /// Runs a workflow to its end.
    ///
    /// # Panics
    ///
    /// If the workflow panics.
    #[track_caller]
    pub fn run<W: Workflow>(self, request: W::Request) -> Finished<W::Response> {
        let body = run::encode(&format!("the request of {}", W::NAME), &request);
        self.execute(W::NAME, body)
    }

    /// Runs a workflow that is known by its name, with a request that need not have
    /// its type: for tables of cases, and for requests that a host has recorded. The
    /// request is checked as a host checks it.
    ///
    /// # Panics
    ///
    /// If the workflow panics.
    #[track_caller]
    pub fn run_named(self, workflow: &str, request: &Value) -> Finished<Value> {
        self.execute(workflow, request.encode())
    }

    #[track_caller]
    fn execute<T: DeserializeOwned>(self, workflow: &str, body: Vec<u8>) -> Finished<T> {
        let world = World::new(self.module, self.config);
        self.api.open(&world);
        let ended = world.execute(workflow, body, &self.outside);
        let result = match ended.outcome.into_result() {
            Err(fault) => Err(Error::of_execution(fault)),
            Ok(value) => codec::decode(&value)
                .map_err(|e| Error::message_only(format!("the result of {workflow}: {e}"))),
        };
        Finished {
            result,
            history: ended.history,
            unread: ended.unread,
            published: ended.published,
            earlier: ended.earlier,
            entities: Entities(world),
        }
    }
}
