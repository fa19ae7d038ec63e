//! One task of a workflow.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::ready::TaskWaker;
use crate::awaited::{Awaited, Site};

/// A future of a single thread.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// One task.
pub(super) struct Task {
    /// It is taken out while it is polled.
    pub(super) future: Option<LocalFuture<()>>,
    /// The line that started it, or where the workflow begins; none if the author's code did not.
    pub(super) began: Option<Site>,
    /// Its last wait.
    pub(super) last: Cell<Option<Awaited>>,
    pub(super) waker: Arc<TaskWaker>,
    pub(super) shielded: bool,
    /// How many shields the task is in. It is not dropped before it has left them.
    pub(super) holds: u32,
    /// It was cancelled, and is dropped as soon as that is possible.
    pub(super) cancelled: bool,
}

impl Task {
    /// The last line of the author's that is known of it.
    pub(super) fn near(&self) -> Option<Awaited> {
        let began = self.began.map(|site| Awaited::Thing("its start", "", site));
        self.last.get().or(began)
    }

    pub(super) fn can_be_dropped(&self) -> bool {
        self.future.is_some() && self.holds == 0
    }
}
