//! The tasks of a running workflow, their waits, and the order in which they run.
//!
//! A workflow is one main task and the tasks that it spawned. Exactly one runs at a
//! time; a task that becomes runnable goes to the end of a queue. After each
//! delivery, tasks run until all of them wait. So the order of events depends on
//! the order of deliveries alone, and a replay repeats it.

pub(crate) mod answering;
mod conditions;
mod context_core;
mod deliveries;
mod inboxes;
mod ops;
pub(crate) mod publisher;
mod ready;
mod task;
mod tasks;
pub(crate) mod updating;
mod waits;

pub(crate) use conditions::Condition;
pub use context_core::ContextCore;
pub(crate) use inboxes::Inbox;
pub(crate) use publisher::Publisher;
pub use task::LocalFuture;
