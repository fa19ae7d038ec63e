//! The tasks of a running workflow: how they begin, take turns and end.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

use super::context_core::{ContextCore, Shared};
use super::ready::TaskWaker;
use super::task::{LocalFuture, Task};
use crate::awaited::Site;
use crate::where_it_is;

impl ContextCore {
    /// The number of the task that is added next.
    pub(crate) fn next_task(&self) -> u64 {
        self.0.spawned.get()
    }

    /// Adds a task at the end of the queue. It inherits the shield.
    pub(crate) fn add_task(&self, began: Option<Site>, future: LocalFuture<()>) {
        let shared = &*self.0;
        if shared.answering.refuses() {
            return;
        }
        let id = shared.spawned.get();
        shared.spawned.set(id + 1);
        let waker = Arc::new(TaskWaker {
            task: id,
            queued: AtomicBool::new(true),
            ready: shared.ready.clone(),
        });
        let task = Task {
            future: Some(future),
            began,
            last: Cell::new(None),
            waker,
            shielded: shared.shielded.get(),
            holds: 0,
            cancelled: false,
        };
        shared.tasks.borrow_mut().insert(id, task);
        shared.ready.push(id);
    }

    /// Cancels a task: drops it where it waits, or when it has left its shields. The running one is
    /// dropped when it waits.
    pub(crate) fn cancel_task(&self, id: u64) {
        if self.0.answering.refuses() {
            return;
        }
        if let Some(task) = self.0.tasks.borrow_mut().get_mut(id) {
            task.cancelled = true;
        }
        self.0.drop_cancelled(id);
    }

    /// Whether the running task was cancelled, and is in no shield.
    pub(crate) fn cancelled(&self) -> bool {
        let tasks = self.0.tasks.borrow();
        let running = tasks.get(self.0.running.get());
        running.is_some_and(|task| task.cancelled && task.holds == 0)
    }

    /// Keeps the running task from being dropped, and returns it.
    pub(crate) fn hold_task(&self) -> u64 {
        let id = self.0.running.get();
        if let Some(task) = self.0.tasks.borrow_mut().get_mut(id) {
            task.holds += 1;
        }
        id
    }

    /// Takes one hold of a task back.
    pub(crate) fn release_task(&self, id: u64) {
        if let Some(task) = self.0.tasks.borrow_mut().get_mut(id) {
            task.holds -= 1;
        }
        self.0.drop_cancelled(id);
    }
}

impl Shared {
    /// Drops a task that was cancelled, if that is possible now.
    fn drop_cancelled(&self, id: u64) {
        let mut tasks = self.tasks.borrow_mut();
        let due = |task: &&mut Task| task.cancelled && task.can_be_dropped();
        let task = match tasks.get_mut(id).filter(due) {
            Some(_) => tasks.remove(id),
            None => None,
        };
        // Values dropped with it run code of their own.
        drop(tasks);
        drop(task);
    }

    /// Runs tasks until all of them wait or the workflow has ended.
    pub(crate) fn dispatch(&self) {
        while self.outcome.borrow().is_none() {
            let Some(id) = self.ready.pop() else { return };
            let mut tasks = self.tasks.borrow_mut();
            let Some(task) = tasks.get_mut(id) else {
                continue;
            };
            let Some(mut future) = task.future.take() else {
                continue;
            };
            // From here on it may be woken again, also by itself.
            task.waker.queued.store(false, Ordering::Relaxed);
            let waker = Waker::from(task.waker.clone());
            self.running.set(id);
            where_it_is::runs(id, task.near());
            self.shielded.set(task.shielded);
            drop(tasks);

            let done = future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready();
            if done {
                self.tasks.borrow_mut().remove(id);
            } else if let Some(task) = self.tasks.borrow_mut().get_mut(id) {
                task.future = Some(future);
            }
            self.drop_cancelled(id);
            self.shielded.set(false);
            self.check_conditions();
        }
    }

    /// Wakes the tasks whose condition has come true.
    fn check_conditions(&self) {
        for condition in &self.conditions.take_met() {
            self.wake(condition.wait);
        }
    }
}
