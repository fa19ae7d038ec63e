//! Tasks of a workflow, and futures about interrupts.

use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::awaited::Awaited;
use crate::error::{Error, Result};
use crate::executor::ContextCore;

/// The result of a task; see
/// [`WorkflowContext::spawn`](crate::WorkflowContext::spawn).
///
/// Dropping it does not end the task; [`cancel`](Self::cancel) does. The workflow ends when
/// `execute` returns, so await the tasks that have to finish. For tasks that end with the part of
/// the workflow that started them, use a [`JoinSet`](crate::JoinSet).
#[must_use = "await the handle, or detach the task with `drop`"]
pub struct JoinHandle<T> {
    core: ContextCore,
    task: u64,
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

#[track_caller]
pub(crate) fn spawn<T: 'static>(
    core: &ContextCore,
    future: impl Future<Output = Result<T>> + 'static,
) -> JoinHandle<T> {
    let slot = Rc::new(RefCell::new(Slot {
        result: None,
        wait: 0,
    }));
    let (task_core, task_slot) = (core.clone(), slot.clone());
    let finish = Finish::new(move |result| {
        let wait = {
            let mut slot = task_slot.borrow_mut();
            slot.result = Some(result);
            slot.wait
        };
        task_core.wake(wait);
    });
    let task = core.next_task();
    let began = Some(Location::caller());
    core.add_task(began, Box::pin(async move { finish.with(future).await }));
    JoinHandle {
        core: core.clone(),
        task,
        wait: 0,
        over: false,
        slot,
    }
}

/// Tells the result of a task once: its future's result, or that it was cancelled if it is dropped
/// before.
pub(crate) struct Finish<T, D: FnOnce(Result<T>)> {
    done: Option<D>,
    result: PhantomData<fn(T)>,
}

impl<T, D: FnOnce(Result<T>)> Finish<T, D> {
    pub(crate) fn new(done: D) -> Self {
        Finish {
            done: Some(done),
            result: PhantomData,
        }
    }

    pub(crate) async fn with(mut self, future: impl Future<Output = Result<T>>) {
        let result = future.await;
        if let Some(done) = self.done.take() {
            done(result);
        }
    }
}

impl<T, D: FnOnce(Result<T>)> Drop for Finish<T, D> {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done(Err(Error::canceled()));
        }
    }
}

impl<T> JoinHandle<T> {
    /// Whether the task is done.
    pub fn is_finished(&self) -> bool {
        self.over || self.slot.borrow().result.is_some()
    }

    /// Cancels the task: its future is dropped where it waits, which cancels its durable calls, and
    /// the handle yields [`Error::canceled`]. A finished task stays as it is.
    ///
    /// A task finishes its work within a [shield](crate::WorkflowContext::shield) first. So await
    /// the handle to be sure that the task has ended:
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[workflow]
    /// # pub struct Example;
    /// # #[workflow_impl]
    /// # impl Example {
    /// async fn execute(&self, ship: String) -> Result<bool, Error> {
    ///     let this = self.clone();
    ///     let watch = self.spawn(async move {
    ///         loop {
    ///             this.sleep(Duration::from_secs(3600)).await?;
    ///             this.shield(this.note_position(ship.clone())).await?;
    ///         }
    ///     });
    ///     self.sleep(Duration::from_secs(86_400)).await?;
    ///     watch.cancel();
    ///     let ended: Result<(), Error> = watch.await;
    ///     Ok(ended.is_err_and(|e| e.is_canceled()))
    /// }
    /// # #[activity]
    /// # async fn note_position(&self, ship: String) -> Result<(), Error> {
    /// #     log::info!("{ship}");
    /// #     Ok(())
    /// # }
    /// # }
    /// ```
    pub fn cancel(&self) {
        self.core.cancel_task(self.task);
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
                let (shielded, awaited) = (self.core.shielded(), Awaited::Task(self.task));
                self.wait = self.core.wait(self.wait, shielded, false, awaited, cx);
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
    awaited: Awaited,
    wait: u64,
}

impl OnInterrupt {
    #[track_caller]
    pub(crate) fn new(core: ContextCore) -> Self {
        OnInterrupt {
            core,
            awaited: Awaited::here("an interrupt"),
            wait: 0,
        }
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
        self.wait = self.core.wait(self.wait, false, true, self.awaited, cx);
        Poll::Pending
    }
}

impl Drop for OnInterrupt {
    fn drop(&mut self) {
        self.core.unwait(self.wait);
    }
}

/// Protects a future from interrupts, and from the cancellation of its task; see
/// [`WorkflowContext::shield`](crate::WorkflowContext::shield).
#[must_use = "futures do nothing unless they are awaited"]
pub struct Shield<F> {
    core: ContextCore,
    future: Pin<Box<F>>,
    /// The task that is not cancelled meanwhile.
    task: Option<u64>,
}

impl<F: Future> Shield<F> {
    pub(crate) fn new(core: ContextCore, future: F) -> Self {
        Shield {
            core,
            future: Box::pin(future),
            task: None,
        }
    }
}

impl<F: Future> Future for Shield<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let core = self.core.clone();
        self.task.get_or_insert_with(|| core.hold_task());
        let before = self.core.set_shielded(true);
        let poll = self.future.as_mut().poll(cx);
        self.core.set_shielded(before);
        if poll.is_ready() {
            self.release();
        }
        poll
    }
}

impl<F> Shield<F> {
    fn release(&mut self) {
        if let Some(task) = self.task.take() {
            self.core.release_task(task);
        }
    }
}

impl<F> Drop for Shield<F> {
    fn drop(&mut self) {
        self.release();
    }
}
