//! Tasks of a workflow, and futures about interrupts.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::error::{Error, Result};
use crate::execution::ContextCore;

/// The result of a task; see
/// [`WorkflowContext::spawn`](crate::WorkflowContext::spawn).
///
/// Dropping it does not end the task. The workflow is over when `execute` returns,
/// so await the tasks that have to finish.
#[must_use = "await the handle, or detach the task with `drop`"]
pub struct JoinHandle<T> {
    core: ContextCore,
    wait: u64,
    /// The result was taken.
    over: bool,
    slot: Rc<RefCell<Slot<T>>>,
}

struct Slot<T> {
    result: Option<Result<T>>,
    /// The wait of the handle.
    wait: u64,
}

pub(crate) fn spawn<T: 'static>(
    core: &ContextCore,
    future: impl Future<Output = Result<T>> + 'static,
) -> JoinHandle<T> {
    let slot = Rc::new(RefCell::new(Slot {
        result: None,
        wait: 0,
    }));
    let (task_core, task_slot) = (core.clone(), slot.clone());
    core.add_task(Box::pin(async move {
        let result = future.await;
        let wait = {
            let mut slot = task_slot.borrow_mut();
            slot.result = Some(result);
            slot.wait
        };
        task_core.wake(wait);
    }));
    JoinHandle {
        core: core.clone(),
        wait: 0,
        over: false,
        slot,
    }
}

impl<T> JoinHandle<T> {
    /// Whether the task is done.
    pub fn is_finished(&self) -> bool {
        self.over || self.slot.borrow().result.is_some()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let result = self.slot.borrow_mut().result.take();
        let ended = match result {
            Some(result) => {
                self.over = true;
                result
            }
            None if self.over => panic!("the handle of a task was polled after its end"),
            None if self.core.interrupted() => Err(Error::interrupted()),
            None => {
                self.wait = self.core.wait(self.wait, self.core.shielded(), false, cx);
                self.slot.borrow_mut().wait = self.wait;
                return Poll::Pending;
            }
        };
        let wait = std::mem::take(&mut self.wait);
        self.core.unwait(wait);
        Poll::Ready(ended)
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        self.core.unwait(self.wait);
    }
}

/// Resolves when the execution is interrupted; see
/// [`WorkflowContext::on_interrupt`](crate::WorkflowContext::on_interrupt).
#[must_use = "futures do nothing unless they are awaited"]
pub struct OnInterrupt {
    core: ContextCore,
    wait: u64,
}

impl OnInterrupt {
    pub(crate) fn new(core: ContextCore) -> Self {
        OnInterrupt { core, wait: 0 }
    }
}

impl Future for OnInterrupt {
    type Output = String;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<String> {
        if let Some(reason) = self.core.interrupt_reason() {
            let wait = std::mem::take(&mut self.wait);
            self.core.unwait(wait);
            return Poll::Ready(reason);
        }
        self.wait = self.core.wait(self.wait, false, true, cx);
        Poll::Pending
    }
}

impl Drop for OnInterrupt {
    fn drop(&mut self) {
        self.core.unwait(self.wait);
    }
}

/// Protects a future from interrupts; see
/// [`WorkflowContext::shield`](crate::WorkflowContext::shield).
#[must_use = "futures do nothing unless they are awaited"]
pub struct Shield<F> {
    core: ContextCore,
    future: Pin<Box<F>>,
}

impl<F: Future> Shield<F> {
    pub(crate) fn new(core: ContextCore, future: F) -> Self {
        Shield {
            core,
            future: Box::pin(future),
        }
    }
}

impl<F: Future> Future for Shield<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let before = self.core.set_shielded(true);
        let poll = self.future.as_mut().poll(cx);
        self.core.set_shielded(before);
        poll
    }
}
