//! The context of a workflow: its durable calls.

use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codes;
use crate::deferred::Deferred;
use crate::error::{Error, Result};
use crate::executor::ContextCore;
use crate::host::{DEFERRED, PATCHED, RESOLVE, SLEEP};
use crate::names;
use crate::nanos::{clamp, nanos};
use crate::op::Op;
use crate::payload;
use crate::random::Random;
use crate::task::{self, JoinHandle, OnInterrupt, Shield};
use crate::timestamp::Timestamp;
use crate::wire::{self, Wire};

/// The `self` of `execute`, which durable calls need. The macros implement it.
#[diagnostic::on_unimplemented(
    message = "make durable calls in a workflow's `execute`",
    label = "this is not the `self` of a workflow's `execute` or of one of its helpers",
    note = "activities cannot call other workflows: return from the activity and call them in `execute`"
)]
pub trait InWorkflow: Clone + 'static {
    #[doc(hidden)]
    fn context(&self) -> &ContextCore;
}

/// The durable calls of a workflow: `self` in `execute` dereferences to this, and
/// this to the workflow's own fields.
///
/// A clone is a handle of the same execution: clone `self` to move it into a
/// [task](WorkflowContext::spawn).
pub struct WorkflowContext<W> {
    core: ContextCore,
    workflow: Rc<W>,
}

impl<W> Clone for WorkflowContext<W> {
    fn clone(&self) -> Self {
        WorkflowContext {
            core: self.core.clone(),
            workflow: self.workflow.clone(),
        }
    }
}

impl<W> Deref for WorkflowContext<W> {
    type Target = W;
    fn deref(&self) -> &W {
        &self.workflow
    }
}

impl<W: 'static> InWorkflow for WorkflowContext<W> {
    fn context(&self) -> &ContextCore {
        &self.core
    }
}

fn sleep_body(duration: i64) -> Vec<u8> {
    let name = String::new();
    wire::Sleep { duration, name }.encode()
}

impl<W> WorkflowContext<W> {
    pub(crate) fn new(core: ContextCore, workflow: Rc<W>) -> Self {
        WorkflowContext { core, workflow }
    }

    pub(crate) fn core(&self) -> &ContextCore {
        &self.core
    }

    /// Waits for some time, be it seconds or months. A sleeping workflow can be
    /// evicted from memory, and it survives a restart of the host.
    #[track_caller]
    pub fn sleep(&self, time: Duration) -> Op<()> {
        let body = sleep_body(clamp(nanos(time)));
        Op::new(&self.core, &SLEEP, "Sleep".to_owned(), Ok(body))
    }

    /// Waits until a point in time.
    #[track_caller]
    pub fn sleep_until(&self, time: Timestamp) -> Op<()> {
        let make = |now: Timestamp, until: Timestamp| {
            sleep_body(until.unix_nanos().saturating_sub(now.unix_nanos()))
        };
        Op::until(&self.core, &SLEEP, "Sleep".to_owned(), make, time)
    }

    /// Waits until a deferred of this execution is settled.
    ///
    /// # Panics
    ///
    /// If the workflow does not list the deferred: `#[workflow_impl(deferreds(APPROVED))]`.
    #[track_caller]
    pub fn await_deferred<T: DeserializeOwned>(&self, deferred: Deferred<T>) -> Op<T> {
        let name = deferred.name();
        self.core.must_accept("waits for", name);
        let body = wire::Deferred {
            name: name.to_owned(),
        }
        .encode();
        Op::new(&self.core, &DEFERRED, format!("deferred {name}"), Ok(body))
    }

    /// Settles a deferred of this execution with a value. It yields false if the
    /// deferred was settled before; the first settlement stands.
    ///
    /// # Panics
    ///
    /// If the workflow does not list the deferred: `#[workflow_impl(deferreds(APPROVED))]`.
    #[track_caller]
    pub fn resolve_deferred<T: Serialize>(&self, deferred: Deferred<T>, value: T) -> Op<bool> {
        self.core.must_accept("settles", deferred.name());
        self.resolve_deferred_in("", deferred, value)
    }

    /// Settles a deferred of this execution with an error.
    ///
    /// # Panics
    ///
    /// If the workflow does not list the deferred: `#[workflow_impl(deferreds(APPROVED))]`.
    #[track_caller]
    pub fn reject_deferred<T>(&self, deferred: Deferred<T>, error: impl Into<Error>) -> Op<bool> {
        self.core.must_accept("settles", deferred.name());
        self.reject_deferred_in("", deferred, error)
    }

    /// [`resolve_deferred`](Self::resolve_deferred) for another execution. It fails if that
    /// execution's workflow does not list the deferred, or not with a value of this type.
    #[track_caller]
    pub fn resolve_deferred_in<T: Serialize>(
        &self,
        execution: &str,
        deferred: Deferred<T>,
        value: T,
    ) -> Op<bool> {
        let value = payload::encode(
            format_args!("the value of deferred {}", deferred.name()),
            &value,
        );
        self.settle(execution, deferred.name(), value.map(|v| (None, Some(v))))
    }

    /// [`reject_deferred`](Self::reject_deferred) for another execution.
    #[track_caller]
    pub fn reject_deferred_in<T>(
        &self,
        execution: &str,
        deferred: Deferred<T>,
        error: impl Into<Error>,
    ) -> Op<bool> {
        let fault = error.into().under(&codes::DEFERRED_REJECTED);
        self.settle(execution, deferred.name(), Ok((Some(fault), None)))
    }

    #[track_caller]
    fn settle(
        &self,
        execution: &str,
        name: &str,
        with: Result<(Option<Box<wire::Fault>>, wire::Binary)>,
    ) -> Op<bool> {
        let body = with.map(|(error, value)| {
            let (execution, name) = (execution.to_owned(), name.to_owned());
            wire::Resolve {
                error,
                execution,
                name,
                value,
            }
            .encode()
        });
        Op::new(&self.core, &RESOLVE, format!("resolve {name}"), body)
    }

    /// Resolves with the reason when the execution is interrupted.
    ///
    /// All other waits end with [`Error::interrupted`] then, so a workflow needs this
    /// only to react at once while it waits for something else.
    #[track_caller]
    pub fn on_interrupt(&self) -> OnInterrupt {
        OnInterrupt::new(self.core.clone())
    }

    /// Whether the execution was interrupted. Within a [shield](Self::shield) it is
    /// false.
    pub fn interrupted(&self) -> bool {
        self.core.interrupted()
    }

    /// The reason of the interrupt; empty if there is none.
    pub fn interrupt_reason(&self) -> String {
        self.core.interrupt_reason().unwrap_or_default()
    }

    /// Protects the durable calls of a future from interrupts. Use it for the steps
    /// that clean up after one.
    ///
    /// A task that is [cancelled](JoinHandle::cancel) within a shield is dropped when it
    /// has left it. Dropping the shield itself cancels its durable calls.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[workflow]
    /// # pub struct Example;
    /// # #[workflow_impl]
    /// # impl Example {
    /// async fn execute(&self, charge: String) -> Result<(), Error> {
    ///     let slept = self.sleep(Duration::from_secs(3600)).await;
    ///     if slept.as_ref().is_err_and(Error::is_interrupted) {
    ///         self.shield(self.refund(charge)).await?;
    ///     }
    ///     slept
    /// }
    /// # #[activity]
    /// # async fn refund(&self, charge: String) -> Result<(), Error> {
    /// #     log::info!("{charge} is refunded");
    /// #     Ok(())
    /// # }
    /// # }
    /// ```
    pub fn shield<F: Future>(&self, future: F) -> Shield<F> {
        Shield::new(self.core.clone(), future)
    }

    /// Whether this run takes a change of the code, so that runs that are under way can
    /// be moved to the new module.
    ///
    /// It is true for runs that come here for the first time: new ones, and moved runs
    /// that were not this far. It is false for runs that had passed this point before
    /// the code asked: they go on as they began. The answer for an id stays the same
    /// for the rest of the run, and an interrupt does not end the wait for it.
    ///
    /// Steps that were inserted, moved or removed before they ran need no `patched`: a run finds
    /// its steps by their kind and content. Use it where the same steps mean something else, or
    /// must run in another order than they did.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[workflow]
    /// # pub struct Example;
    /// # #[workflow_impl]
    /// # impl Example {
    /// async fn execute(&self, mut cents: i64) -> Result<i64, Error> {
    ///     if self.patched("tax").await {
    ///         cents += cents / 5;
    ///     }
    ///     self.charge(cents).await
    /// }
    /// # #[activity]
    /// # async fn charge(&self, cents: i64) -> Result<i64, Error> {
    /// #     Ok(cents)
    /// # }
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If the id is not a valid name: letters, digits, `_`, `-` and `.`.
    #[track_caller]
    pub fn patched(&self, id: &str) -> impl Future<Output = bool> {
        let body = wire::Patched { id: id.to_owned() }.encode();
        let asked: Op<bool> = Op::new(&self.core, &PATCHED, format!("patched {id}"), Ok(body));
        async move {
            names::check("the id of a change", id);
            if let Some(known) = self.core.patch(id) {
                return known;
            }
            match self.shield(asked).await {
                Ok(answer) => self.core.keep_patch(id, answer),
                // The host refuses an op only if the workflow issues far too many.
                Err(e) => panic!("{e}"),
            }
        }
    }

    /// The id of the execution: `DEPLOYMENT/WORKFLOW/KEY`.
    pub fn execution_id(&self) -> &str {
        &self.core.0.invocation.execution
    }

    /// The tenant that the execution belongs to.
    pub fn namespace(&self) -> &str {
        &self.core.0.invocation.namespace
    }

    /// The journal time: the time of the last delivery. It does not advance while the workflow
    /// computes, and it is the same on every replay.
    pub fn now(&self) -> Timestamp {
        self.core.now()
    }

    /// The random source of the execution. A replay draws the same numbers.
    pub fn random(&self) -> Random {
        Random::new(self.core.clone())
    }

    /// A random UUID (version 4) from [`random`](Self::random).
    pub fn uuid(&self) -> String {
        self.random().uuid()
    }

    /// Runs a future as a task. The tasks of a workflow take turns in an order that
    /// every replay repeats; each runs until it waits.
    ///
    /// The workflow ends when `execute` returns, so await the tasks that have to finish.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[workflow]
    /// # pub struct Example;
    /// # #[workflow_impl]
    /// # impl Example {
    /// async fn execute(&self, items: Vec<String>) -> Result<u32, Error> {
    ///     let this = self.clone();
    ///     let task = self.spawn(async move { this.reserve(items).await });
    ///     self.sleep(Duration::from_secs(60)).await?;
    ///     task.await
    /// }
    /// # #[activity]
    /// # async fn reserve(&self, items: Vec<String>) -> Result<u32, Error> {
    /// #     Ok(items.len() as u32)
    /// # }
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<T: 'static>(
        &self,
        future: impl Future<Output = Result<T>> + 'static,
    ) -> JoinHandle<T> {
        task::spawn(&self.core, future)
    }

    /// Awaits a future for no longer than `limit`, and yields [`Error::timeout`] if it
    /// is not done by then. The future is dropped, which cancels its durable calls;
    /// pass it as `&mut` to keep it.
    #[track_caller]
    pub fn timeout<T>(
        &self,
        limit: Duration,
        future: impl Future<Output = Result<T>>,
    ) -> impl Future<Output = Result<T>> {
        let mut timer = self.sleep(limit);
        async move {
            let mut future = pin!(future);
            poll_fn(|cx| {
                if let Poll::Ready(result) = future.as_mut().poll(cx) {
                    return Poll::Ready(result);
                }
                match Pin::new(&mut timer).poll(cx) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(Ok(())) => Poll::Ready(Err(Error::timeout())),
                    Poll::Ready(Err(e)) => Poll::Ready(Err(e)),
                }
            })
            .await
        }
    }
}
