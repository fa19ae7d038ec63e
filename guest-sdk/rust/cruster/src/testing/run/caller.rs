//! The caller of a run.

/// The op that has started a run and waits for it.
pub(crate) struct Caller {
    /// The execution of the op.
    pub(crate) execution: String,
    pub(crate) op: u32,
    /// The fate of the run.
    pub(crate) policy: String,
}
