//! The Rust SDK for Cruster: write workflows, activities and entities, compile them to
//! one WebAssembly module, and a Cruster host runs them durably.
//!
//! ```
//! use cruster::prelude::*;
//!
//! #[derive(Serialize, Deserialize, Schema)]
//! pub struct Order {
//!     pub id: String,
//!     pub cents: u64,
//! }
//!
//! #[workflow]
//! pub struct ProcessOrder;
//!
//! #[workflow_impl(key = |order: &Order| order.id.clone(), hash = false)]
//! impl ProcessOrder {
//!     /// Decides what happens. It survives crashes of the host: its code is
//!     /// replayed from the journal and goes on where it was.
//!     async fn execute(&self, order: Order) -> Result<String, Error> {
//!         let charge = self.charge(order).await?;
//!         self.sleep(Duration::from_secs(14 * 24 * 3600)).await?;
//!         Ok(charge)
//!     }
//!
//!     /// Has effects. It is retried, and its result is journaled.
//!     #[activity(retries = 5, backoff = "exponential", base = "1s", timeout = "30s")]
//!     async fn charge(&self, order: Order) -> Result<String, Error> {
//!         let id = self.idempotency_key().to_owned();
//!         self.transaction().execute(
//!             "INSERT INTO charges (id, order_id, cents) VALUES ($1, $2, $3)",
//!             (&id, &order.id, order.cents),
//!         )?;
//!         Ok(id)
//!     }
//! }
//!
//! cruster::module! {
//!     workflows: [ProcessOrder],
//!     migrations: [Migration::new(
//!         1,
//!         "charges",
//!         "CREATE TABLE charges (id TEXT PRIMARY KEY, order_id TEXT, cents BIGINT)",
//!     )],
//! }
//! # fn main() {}
//! ```
//!
//! A module is a library crate with `crate-type = ["cdylib", "rlib"]`, built as a
//! WASI reactor: `cargo build --release --target wasm32-wasip1`.
//!
//! # Two kinds of code
//!
//! A **workflow** decides the steps. Its `self` dereferences to a [`WorkflowContext`]: it calls
//! activities, [sleeps](WorkflowContext::sleep), waits for
//! [deferreds](WorkflowContext::await_deferred) and [signals](Signal), and calls other workflows
//! through a [`Client`]. While it waits, it answers [queries](Query). It has no other effects: a
//! module has no files and no network, its clock shows journal time, and its random numbers are
//! seeded.
//!
//! An **activity** has effects. Its `self` dereferences to an [`ActivityContext`]:
//! SQL in a [`Transaction`] that commits together with the activity's result,
//! [`Http`] to granted hosts, configuration, real time, and an idempotency key for
//! everything else. An attempt runs in one go and cannot wait for durable calls.
//!
//! To share activities between workflows, put them in an `#[activity_group]`.
//!
//! # Entities
//!
//! An **entity** is a thing with an id, reached by calls: from clients and from workflows.
//! The first call creates it.
//!
//! One **with a state** is a struct. Its operations run one at a time; the state is saved together
//! with the reply of an operation and its messages.
//!
//! ```
//! use cruster::prelude::*;
//!
//! #[stateful_entity]
//! #[derive(Default, Serialize, Deserialize, Schema)]
//! pub struct Account {
//!     cents: i64,
//! }
//!
//! #[operations]
//! impl Account {
//!     fn deposit(&mut self, cents: i64) -> Result<i64, Error> {
//!         self.cents += cents;
//!         Ok(self.cents)
//!     }
//!
//!     #[read_only]
//!     fn balance(&self) -> i64 {
//!         self.cents
//!     }
//! }
//!
//! #[workflow]
//! pub struct Transfer;
//!
//! #[workflow_impl]
//! impl Transfer {
//!     async fn execute(&self, cents: i64) -> Result<i64, Error> {
//!         Account::client(self, "ada").deposit(-cents).await?;
//!         Account::client(self, "bob").deposit(cents).await
//!     }
//! }
//!
//! cruster::module! { workflows: [Transfer], entities: [Account] }
//! # fn main() {}
//! ```
//!
//! One **without** keeps its data in the database: see [`entity`](macro@entity) and
//! [`entity_impl`](macro@entity_impl). Its `self` dereferences to an [`RpcContext`], which offers
//! the calls of an activity.
//!
//! # Several things at once
//!
//! Durable calls are futures that do nothing before they are polled. Wait for
//! several of them with [`join!`](crate::join), [`join_all`],
//! [`select!`](crate::select), [`first`] and [`WorkflowContext::timeout`]; run a task
//! with [`WorkflowContext::spawn`], or several in a [`JoinSet`]. Tasks take turns in an
//! order that every replay repeats. Combinators of other crates work too, if they are
//! deterministic. Dropping a future cancels its durable call, and
//! [`JoinHandle::cancel`] a task.
//!
//! [`JoinAll::limit`] bounds how many run at once, and [`JoinAll::settled_by`] yields the results
//! so far at a deadline. Tasks share a [`Semaphore`] and talk over a [`channel`].
//!
//! # Errors and interrupts
//!
//! The [`Error`] of a failed activity, deferred or call has the code, type and
//! details that it was created with. When an operator or a client interrupts an
//! execution, its waits end with an error that
//! [`is_interrupted`](Error::is_interrupted); the workflow cleans up within a
//! [`shield`](WorkflowContext::shield) and returns. A panic in an activity is a
//! failed attempt. A panic in a workflow pauses the execution until the code is
//! fixed.
//!
//! # Logging
//!
//! Records of the `log` facade go to the host's log. A record of a workflow
//! appears once, however often the workflow is replayed. If the workflow crashes
//! behind it, it is there at once with `crashed=true`, and comes again when that
//! part of the workflow has succeeded.
//!
//! # Testing
//!
//! [`testing`] runs workflows and entities in a plain `cargo test`, with virtual time and stubs.

#![deny(missing_docs)]

mod activity;
mod activity_call;
mod attempt;
mod awaited;
mod bytes;
mod channel;
mod client;
mod codec;
mod codes;
mod combine;
mod context;
mod continuation;
mod declared;
mod deferred;
mod definition;
mod effects;
mod entity;
mod error;
mod execution;
mod executor;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod exports;
mod extension;
mod generator;
mod groups;
mod host;
mod http_call;
#[cfg(feature = "http")]
mod http_types;
mod inbox;
mod join_all;
mod join_set;
mod line;
mod logging;
mod migration;
mod module;
mod named;
mod names;
mod nanos;
mod numbered;
mod op;
mod owner;
mod payload;
mod publish;
mod query;
mod random;
mod retry_policy;
mod rows;
mod schedule;
pub mod schema;
mod section;
mod semaphore;
mod signal;
mod statement;
#[cfg_attr(
    not(all(
        feature = "std-clock",
        target_os = "linux",
        target_pointer_width = "64"
    )),
    path = "std_clock_real.rs"
)]
mod std_clock;
mod task;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod timestamp;
mod transaction;
mod until;
mod update;
mod value;
#[cfg(test)]
mod vectors_test;
mod where_it_is;
#[doc(hidden)]
pub mod wire;
mod workflow;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

/// The crate whose types [`Http::send`] takes and returns.
#[cfg(feature = "http")]
pub use ::http;
pub use activity::ActivityContext;
pub use activity_call::ActivityCall;
pub use bytes::Bytes;
pub use channel::{Receiver, Sender, channel};
pub use client::{CallsWorkflows, Client, OnCancel, Poll, remote};
pub use combine::first;
pub use context::{InWorkflow, WorkflowContext};
pub use deferred::{Deferred, DynamicDeferred};
pub use entity::{
    CallsEntities, Entity, EntityCall, EntityContext, EntitySend, EntityState, RemoteEntity,
    RpcContext, RpcGroup, StatefulEntity, WorkflowStarter, remote_entity,
};
pub use error::{Error, Result, ResultExt};
pub use http_call::{Http, HttpRequest, HttpRequestBuilder, HttpResponse};
#[cfg(feature = "http")]
pub use http_types::HttpTimeout;
pub use join_all::{JoinAll, Settle, TryJoinAll, join_all, try_join_all};
pub use join_set::JoinSet;
pub use migration::Migration;
pub use module::Module;
pub use op::Op;
pub use publish::{Attribute, AttributeValue, Part, Progress, Publishes, State};
pub use query::{Answer, Answers, Query};
pub use random::Random;
pub use retry_policy::Backoff;
pub use schedule::{Overlap, Schedule};
pub use schema::Schema;
pub use section::{EntityId, Lock, Lockable, Section};
pub use semaphore::{Permit, Semaphore};
pub use signal::{Accepts, Receive, Signal};
pub use statement::{RowStatement, Statement, query, query_as};
pub use task::{JoinHandle, OnInterrupt, Shield};
pub use timestamp::{ParseTimestampError, Timestamp};
pub use transaction::{Params, Transaction};
pub use until::Until;
pub use update::{Takes, Update, Validated};
pub use value::Value;
pub use workflow::{ActivityGroup, Workflow};

pub use cruster_macros::{
    Attribute, Query, Schema, Signal, State, Update, activity, activity_group, activity_group_impl,
    entity, entity_impl, operations, read_only, rpc, rpc_group, rpc_group_impl, stateful_entity,
    workflow, workflow_impl,
};

#[doc(hidden)]
pub use serde;

/// A request or result without content, as `()` and a struct without fields are: an empty
/// struct on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Empty {}

impl Schema for Empty {
    fn schema() -> schema::Shape {
        schema::Shape::structure(Vec::new())
    }
}

/// The names that most modules need: `use cruster::prelude::*;`.
pub mod prelude {
    pub use crate::error::{Error, Result, ResultExt};
    pub use crate::{
        Attribute, Backoff, Bytes, Deferred, DynamicDeferred, EntityContext, Migration, Query,
        Schema, Signal, State, StatefulEntity, Timestamp, Update,
    };
    pub use crate::{activity, activity_group, activity_group_impl, workflow, workflow_impl};
    pub use crate::{entity, entity_impl, rpc, rpc_group, rpc_group_impl};
    pub use crate::{operations, read_only, stateful_entity};
    pub use serde::{Deserialize, Serialize};
    pub use std::time::Duration;
}

/// The examples of the README are compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
