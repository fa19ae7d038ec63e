//! Tasks that end with their owner.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::rc::Rc;
use std::task::Poll;

use crate::awaited::Awaited;
use crate::context::InWorkflow;
use crate::error::Result;
use crate::executor::ContextCore;
use crate::task::Finish;

/// A set of tasks that yields their results as they come, and that cancels the remaining ones when
/// it is dropped. So no task outlives the part of the workflow that started it.
///
/// ```
/// # use cruster::prelude::*;
/// use cruster::JoinSet;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// /// The first two offers.
/// async fn execute(&self, shops: Vec<String>) -> Result<Vec<u64>, Error> {
///     let mut tasks = JoinSet::new(self);
///     for shop in shops {
///         let this = self.clone();
///         tasks.spawn(async move { this.ask(shop).await });
///     }
///     let mut offers = Vec::new();
///     while let Some(offer) = tasks.join_next().await {
///         offers.push(offer?);
///         if offers.len() == 2 {
///             break;
///         }
///     }
///     Ok(offers) // the other tasks are cancelled
/// }
/// # #[activity]
/// # async fn ask(&self, shop: String) -> Result<u64, Error> {
/// #     Ok(shop.len() as u64)
/// # }
/// # }
/// ```
///
/// A single task is [`spawn`](crate::WorkflowContext::spawn)ed.
pub struct JoinSet<T> {
    core: ContextCore,
    shared: Rc<Shared<T>>,
}

struct Shared<T> {
    /// The tasks that are not over, in the order in which they were started.
    open: RefCell<Vec<u64>>,
    /// The results that were not taken, in the order in which they came.
    results: RefCell<VecDeque<Result<T>>>,
    wait: Cell<u64>,
}

impl<T: 'static> JoinSet<T> {
    /// Makes a set with no tasks.
    pub fn new(cx: &impl InWorkflow) -> Self {
        JoinSet {
            core: cx.context().clone(),
            shared: Rc::new(Shared {
                open: RefCell::default(),
                results: RefCell::default(),
                wait: Cell::new(0),
            }),
        }
    }

    /// Runs a future as a task of the set.
    #[track_caller]
    pub fn spawn(&mut self, future: impl Future<Output = Result<T>> + 'static) {
        let (core, shared) = (self.core.clone(), self.shared.clone());
        let id = self.core.next_task();
        self.shared.open.borrow_mut().push(id);
        let finish = Finish::new(move |result| {
            shared.open.borrow_mut().retain(|open| *open != id);
            shared.results.borrow_mut().push_back(result);
            core.wake(shared.wait.get());
        });
        let began = Some(Location::caller());
        self.core
            .add_task(began, Box::pin(async move { finish.with(future).await }));
    }

    /// Waits for a task to end, and yields its result; `None` if no tasks are left. Tasks that ended
    /// come first, in the order in which they did.
    ///
    /// An interrupt ends waits of the tasks, and so the tasks; it does not end this wait. A task that
    /// was cancelled yields [`Error::canceled`](crate::Error::canceled).
    #[track_caller]
    pub fn join_next(&mut self) -> impl Future<Output = Option<Result<T>>> {
        let shared = &*self.shared;
        let waiting = Waiting(&self.core, &shared.wait);
        let awaited = Awaited::here("a task of a set");
        poll_fn(move |cx| {
            let next = shared.results.borrow_mut().pop_front();
            if next.is_some() || shared.open.borrow().is_empty() {
                return Poll::Ready(next);
            }
            let Waiting(core, wait) = &waiting;
            wait.set(core.wait(wait.get(), true, false, awaited, cx));
            Poll::Pending
        })
    }
}

impl<T> JoinSet<T> {
    /// Cancels all tasks, as [`JoinHandle::cancel`](crate::JoinHandle::cancel) does. To wait until they
    /// have ended, go on with [`join_next`](Self::join_next) until there are none.
    pub fn cancel_all(&self) {
        let open = self.shared.open.borrow().clone();
        for task in open {
            self.core.cancel_task(task);
        }
    }

    /// How many tasks and results are left.
    pub fn len(&self) -> usize {
        self.shared.open.borrow().len() + self.shared.results.borrow().len()
    }

    /// Whether there are neither tasks nor results left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        if !self.core.closed() {
            self.cancel_all();
        }
    }
}

/// The wait of a set; it ends when this is dropped.
struct Waiting<'a>(&'a ContextCore, &'a Cell<u64>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.unwait(self.1.take());
    }
}
