//! Calls workflows and entities on a Cruster host, by the types that they are written in.
//!
//! The crate of a module is a library as well: a program outside depends on it, and calls
//! `ProcessOrder::client(&cluster)` as a workflow calls `ProcessOrder::client(self)`.
//!
//! ```no_run
//! use cruster_client::Cluster;
//! use orders_rust::{OrderRequest, ProcessOrder};
//!
//! # async fn example() -> Result<(), cruster_client::Error> {
//! let cluster = Cluster::connect("127.0.0.1:7600", "orders")?;
//! let order = OrderRequest { order_id: "42".into(), ..OrderRequest::default() };
//! let result = ProcessOrder::client(&cluster).execute(order).await?;
//! # let _ = result;
//! # Ok(())
//! # }
//! ```
//!
//! A request that is sent twice runs once: starts by their keys, and everything else by an id
//! that the client draws. So calls that no host answered, or that a full host put off, are
//! repeated, for as long as [`Options::retry_for`] allows. Settling a deferred is not: a second
//! settlement is refused, also if the first was this client's own.
//!
//! Failures are an [`Error`] with a stable code and a hint. The error of a workflow that did not
//! complete has its [state](Error::state) too.

#![deny(missing_docs)]

mod cluster;
mod entity;
mod error;
mod options;
pub mod proto;
mod retry;
mod run;
mod start;
mod state;
mod waiting;
mod workflow;

pub use cluster::Cluster;
pub use entity::{EntityCall, EntityRef};
pub use error::{Error, Result};
pub use options::Options;
pub use run::{Run, Status};
pub use start::IfFinished;
pub use state::State;
pub use workflow::WorkflowClient;

/// The examples of the README are compiled with the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
