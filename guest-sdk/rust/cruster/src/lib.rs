//! The Rust SDK for Cruster: write workflows and activities, compile them to
//! one WebAssembly module, and a Cruster host runs them durably.

#![deny(missing_docs)]

mod activity;
mod activity_call;
mod bytes;
mod client;
mod codec;
mod codes;
mod combine;
mod context;
mod deferred;
mod definition;
mod error;
mod execution;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod exports;
mod host;
mod http;
mod logging;
mod module;
mod names;
mod op;
mod random;
mod rows;
pub mod schema;
mod task;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod timestamp;
mod transaction;
mod value;
#[cfg(test)]
mod vectors_test;
#[doc(hidden)]
pub mod wire;
mod workflow;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use activity::ActivityContext;
pub use activity_call::ActivityCall;
pub use bytes::Bytes;
pub use client::{Client, Poll, remote};
pub use combine::{first, join_all};
pub use context::{InWorkflow, WorkflowContext};
pub use deferred::Deferred;
pub use definition::{Backoff, Migration};
pub use error::{Error, Result, ResultExt};
pub use http::{Http, HttpRequest, HttpRequestBuilder, HttpResponse};
pub use module::Module;
pub use op::Op;
pub use random::Random;
pub use schema::Schema;
pub use task::{JoinHandle, OnInterrupt, Shield};
pub use timestamp::{ParseTimestampError, Timestamp};
pub use transaction::{Params, Transaction};
pub use value::Value;
pub use workflow::{ActivityGroup, Workflow};

pub use cruster_macros::{Schema, activity, activity_group, activity_group_impl, workflow, workflow_impl};

#[doc(hidden)]
pub use serde;

/// Nothing, as a request or result: an empty struct on the wire. The unit type
/// `()` is nil instead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct None {}

impl Schema for None {
    fn schema() -> schema::Shape {
        schema::Shape::structure(Vec::new())
    }
}

/// What modules need: `use cruster::prelude::*;`.
pub mod prelude {
    pub use crate::error::{Error, Result, ResultExt};
    pub use crate::{Backoff, Bytes, Deferred, Migration, Schema, Timestamp};
    pub use crate::{activity, activity_group, activity_group_impl, workflow, workflow_impl};
    pub use serde::{Deserialize, Serialize};
    pub use std::time::Duration;
}
