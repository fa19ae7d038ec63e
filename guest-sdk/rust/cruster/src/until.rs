//! Waits for something that other tasks do.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::awaited::Awaited;
use crate::context::WorkflowContext;
use crate::error::{Error, Result};
use crate::executor::{Condition, ContextCore};

/// Waits until a condition holds; see [`WorkflowContext::until`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct Until {
    core: ContextCore,
    holds: Rc<dyn Fn() -> bool>,
    met: Rc<Cell<bool>>,
    wait: u64,
    awaited: Awaited,
}

impl<W> WorkflowContext<W> {
    /// Waits until a condition holds about variables that the workflow shares with its tasks, and
    /// with the handlers of its [updates](crate::Update). The closure only looks; it is asked
    /// whenever a task has run. It costs no step of the journal.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # use std::{cell::Cell, rc::Rc};
    /// # #[workflow]
    /// # pub struct Example;
    /// # #[workflow_impl]
    /// # impl Example {
    /// async fn execute(&self, _: ()) -> Result<(), Error> {
    ///     let ready = Rc::new(Cell::new(0));
    ///     for day in 1..=3 {
    ///         let (this, ready) = (self.clone(), ready.clone());
    ///         drop(self.spawn(async move {
    ///             this.sleep(Duration::from_secs(day * 86_400)).await?;
    ///             ready.set(ready.get() + 1);
    ///             Ok(())
    ///         }));
    ///     }
    ///     self.until(move || ready.get() >= 2).await
    /// }
    /// # }
    /// ```
    #[track_caller]
    pub fn until(&self, holds: impl Fn() -> bool + 'static) -> Until {
        Until {
            core: self.core().clone(),
            holds: Rc::new(holds),
            met: Rc::default(),
            wait: 0,
            awaited: Awaited::here("a condition"),
        }
    }
}

impl Future for Until {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.leave();
        if self.met.get() || (self.holds)() {
            return Poll::Ready(Ok(()));
        }
        if self.core.interrupted() {
            return Poll::Ready(Err(Error::interrupted()));
        }
        self.wait = self
            .core
            .wait(0, self.core.shielded(), false, self.awaited, cx);
        self.core.0.conditions.add(Condition {
            holds: self.holds.clone(),
            met: self.met.clone(),
            wait: self.wait,
        });
        Poll::Pending
    }
}

impl Until {
    fn leave(&mut self) {
        let wait = std::mem::take(&mut self.wait);
        if wait != 0 {
            self.core.unwait(wait);
            self.core.0.conditions.remove(wait);
        }
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        self.leave();
    }
}
