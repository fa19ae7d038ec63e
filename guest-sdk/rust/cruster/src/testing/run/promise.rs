//! One deferred of an execution.

use crate::wire::Settled;

/// A deferred of the execution.
#[derive(Default)]
pub(super) struct Promise {
    pub(super) settled: Option<Settled>,
    pub(super) waiting: Vec<u32>,
}
