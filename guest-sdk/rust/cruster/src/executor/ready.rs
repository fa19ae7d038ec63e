//! The queue of the tasks that can run.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;

/// The tasks that can run, in the order in which they became runnable.
#[derive(Default)]
pub(super) struct Ready(Mutex<VecDeque<u64>>);

impl Ready {
    pub(super) fn push(&self, task: u64) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(task);
    }

    pub(super) fn pop(&self) -> Option<u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }
}

/// Puts its task at the end of the queue, once.
pub(super) struct TaskWaker {
    pub(super) task: u64,
    pub(super) queued: AtomicBool,
    pub(super) ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            self.ready.push(self.task);
        }
    }
}
