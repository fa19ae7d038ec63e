//! Bounds on the concurrent work of tasks.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::rc::Rc;

use crate::awaited::Awaited;
use crate::codes;
use crate::context::InWorkflow;
use crate::error::{Error, Result};
use crate::line::Line;

/// Bounds the concurrent work of the tasks of one execution. Waiting tasks get it in the order in
/// which they came. A replay restores it, and it costs no step of the journal. A clone is the same
/// semaphore.
///
/// ```
/// # use cruster::prelude::*;
/// use cruster::{JoinSet, Semaphore};
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// async fn execute(&self, orders: Vec<String>) -> Result<(), Error> {
///     let printers = Semaphore::new(self, 2);
///     let mut tasks = JoinSet::new(self);
///     for order in orders {
///         let (this, printers) = (self.clone(), printers.clone());
///         tasks.spawn(async move {
///             this.pack(order.clone()).await?;
///             let _printer = printers.acquire().await?;
///             this.print_label(order).await
///         });
///     }
///     while let Some(done) = tasks.join_next().await {
///         done?;
///     }
///     Ok(())
/// }
/// # #[activity]
/// # async fn pack(&self, order: String) -> Result<(), Error> {
/// #     log::info!("{order}");
/// #     Ok(())
/// # }
/// # #[activity]
/// # async fn print_label(&self, order: String) -> Result<(), Error> {
/// #     log::info!("{order}");
/// #     Ok(())
/// # }
/// # }
/// ```
///
/// To do the same thing for many items, [`join_all`](crate::join_all) with a
/// [limit](crate::JoinAll::limit) is simpler.
#[derive(Clone)]
pub struct Semaphore(Rc<Inner>);

struct Inner {
    line: Line,
    size: usize,
    used: Cell<usize>,
}

/// Room that was taken of a [`Semaphore`]. Dropping it gives the room back.
#[must_use = "the room is given back when this is dropped: keep it in a variable"]
pub struct Permit {
    semaphore: Semaphore,
    n: usize,
}

impl Semaphore {
    /// Makes a semaphore with room for `n`.
    pub fn new(cx: &impl InWorkflow, n: usize) -> Self {
        Semaphore(Rc::new(Inner {
            line: Line::new(cx.context().clone()),
            size: n,
            used: Cell::new(0),
        }))
    }

    /// Waits until there is room for one more, and takes it. A wait that is dropped, or that an
    /// interrupt ends, has taken nothing.
    #[track_caller]
    pub fn acquire(&self) -> impl Future<Output = Result<Permit>> {
        self.acquire_many(1)
    }

    /// Waits until there is room for `n` more, and takes it. Later tasks wait behind, even
    /// if there is room for them.
    #[track_caller]
    pub fn acquire_many(&self, n: usize) -> impl Future<Output = Result<Permit>> {
        let awaited = Awaited::here("a semaphore");
        async move {
            if n > self.0.size {
                let message = format!("a semaphore of {} cannot give {n}", self.0.size);
                return Err(Error::with_code(&codes::WRONG_CONTEXT, message));
            }
            self.0.line.stand(awaited, || self.take(n)).await
        }
    }

    /// Takes room for one if it is there and no one waits for it.
    pub fn try_acquire(&self) -> Option<Permit> {
        self.try_acquire_many(1)
    }

    /// Takes room for `n` if it is there and no one waits for it.
    pub fn try_acquire_many(&self, n: usize) -> Option<Permit> {
        if self.0.line.is_empty() {
            self.take(n)
        } else {
            None
        }
    }

    /// How much room there is.
    pub fn available(&self) -> usize {
        self.0.size - self.0.used.get()
    }

    fn take(&self, n: usize) -> Option<Permit> {
        if n > self.available() {
            return None;
        }
        self.0.used.set(self.0.used.get() + n);
        Some(Permit {
            semaphore: self.clone(),
            n,
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Inner { line, used, .. } = &*self.semaphore.0;
        used.set(used.get() - self.n);
        line.serve();
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("n", &self.n).finish()
    }
}
