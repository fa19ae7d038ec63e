//! Runs workflows and entities in a plain `cargo test`: no host, no WebAssembly, no waiting.
//!
//! ```
//! use cruster::prelude::*;
//! use cruster::testing::Test;
//!
//! #[workflow]
//! pub struct ProcessOrder;
//!
//! #[workflow_impl(key = |id: &String| id.clone(), hash = false)]
//! impl ProcessOrder {
//!     async fn execute(&self, id: String) -> Result<String, Error> {
//!         let charge = self.charge(id).await?;
//!         self.sleep(Duration::from_secs(3600)).await?;
//!         Ok(charge)
//!     }
//!
//!     #[activity(retries = 3)]
//!     async fn charge(&self, id: String) -> Result<String, Error> {
//!         self.transaction().execute("INSERT INTO charges (id) VALUES ($1)", (&id,))?;
//!         Ok(id)
//!     }
//! }
//!
//! cruster::module! { workflows: [ProcessOrder] }
//!
//! // In a test:
//! # fn main() {
//! let run = Test::new(&MODULE)
//!     .stub("charge", |cx, id: String| match cx.attempt() {
//!         1 => Err(cruster::err!("busy", "the terminal is busy")),
//!         _ => Ok(format!("ch_{id}")),
//!     })
//!     .run::<ProcessOrder>("42".to_owned());
//!
//! assert_eq!(run.result.unwrap(), "ch_42");
//! assert_eq!(run.history.execution, "test/ProcessOrder/42");
//! assert_eq!(run.history.steps(), ["activity charge", "sleep 3600s"]);
//! assert_eq!(run.history.duration(), Duration::from_secs(3601));
//! run.history.replay().unwrap();
//! # }
//! ```
//!
//! The workflow runs on the same executor as inside a module. Its surroundings are
//! simulated:
//!
//! - Time is virtual. It jumps to the next event, so a workflow that sleeps for a month finishes at
//!   once. Ops that become due at the same time are delivered in the order in which they were
//!   issued.
//! - Activities run for real, in the test's process, unless a
//!   [stub](Test::stub) replaces them. They are retried as their policy says, in
//!   virtual time. SQL needs a [database](Test::sql), HTTP a
//!   [handler](Test::http); without, such calls fail with an error that says so.
//! - Entities run for real, and their states are kept by id. A test can also call them
//!   [directly](Test::entities).
//! - Other workflows of the module run as separate executions; workflows of other deployments need
//!   their [module](Test::module) or a [stub](Test::stub_workflow).
//! - [`resolve_after`](Test::resolve_after), [`reject_after`](Test::reject_after),
//!   [`signal_after`](Test::signal_after) and [`interrupt_after`](Test::interrupt_after) settle
//!   deferreds, send signals and interrupt the execution at a virtual time, and
//!   [`query_after`](Test::query_after) asks it a question, [`update_after`](Test::update_after)
//!   sends it an update, and [`look_after`](Test::look_after) looks at its published values.
//!   [`when`](Test::when) has all of them happen at a place of the workflow instead.
//!   [`signal`](Test::signal) sends one before the start, and an [`Api`] is for stubs that act as
//!   clients while the execution runs.
//!
//! The kit behaves as a host does: it passes the same table of cases, `tests/conformance/table`. So
//! it also refuses the requests, statements, addresses and sizes that a host refuses.
//!
//! A test has no sandbox, though. Two things that a host repeats come from the process:
//!
//! - `SystemTime::now()` and `Instant::now()` of a workflow are real time, unless the
//!   crate has the feature `std-clock`; with it they are virtual time, on Linux. The SDK's
//!   own `now()` always is.
//! - The order of a `HashMap` or `HashSet` differs from run to run. Iterate over a
//!   `BTreeMap`, or sort.
//!
//! A [`History`] records the events of a run. Assert on it, and call [`History::replay`] to check
//! that the workflow is deterministic: it runs the workflow again and fails if it does anything
//! else.

mod api;
mod attempt;
pub(crate) mod canonical;
mod config;
mod database;
mod deployments;
mod described;
mod egress;
mod entities;
mod entity_store;
mod finished;
mod history;
mod key_host;
mod locks;
mod mailbox;
mod operation;
mod outside;
mod outside_event;
mod panics;
mod pending;
mod places;
mod published;
mod queries;
mod received;
pub(crate) mod refusals;
mod replay;
pub(crate) mod request;
mod run;
pub(crate) mod sha256;
mod signals;
mod starts;
mod statement;
mod test;
mod transaction;
mod under_test;
mod update_inbox;
mod updates;
mod watchdog;
mod when;
mod words;
mod world;

pub use api::Api;
pub use database::{Database, Rows};
pub use entities::{DirectCall, Entities};
pub use finished::Finished;
pub use history::{Event, Happening, History};
pub use mailbox::Unread;
pub use published::Published;
pub use statement::question_marks;
pub use test::Test;
#[doc(hidden)]
pub use watchdog::pass_limits;
pub use when::When;
