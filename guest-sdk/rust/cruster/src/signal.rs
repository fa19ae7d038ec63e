//! Signals: messages to running workflows.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::WorkflowContext;
use crate::declared::SignalDefinition;
use crate::error::Result;
use crate::host::SIGNAL;
use crate::inbox::Next;
use crate::names;
use crate::op::Op;
use crate::payload;
use crate::schema::Schema;
use crate::wire::{self, Wire};
use crate::workflow::Workflow;

/// A message that a workflow can be sent while it runs. Derive it beside serde's traits; the value
/// of the type is the signal's payload.
///
/// A workflow lists the signals that it accepts, and [receives](WorkflowContext::receive) them one
/// after the other. Clients send them through the API, other workflows with
/// [`WorkflowContext::signal`]. No signal is lost: a signal that comes before the workflow asks for
/// it waits.
///
/// ```
/// use cruster::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema, Signal)]
/// pub struct Paid {
///     pub cents: u64,
/// }
///
/// #[derive(Serialize, Deserialize, Schema, Signal)]
/// pub struct Canceled;
///
/// #[workflow]
/// pub struct Invoice;
///
/// #[workflow_impl(signals(Paid, Canceled))]
/// impl Invoice {
///     async fn execute(&self, mut cents: u64) -> Result<bool, Error> {
///         while cents > 0 {
///             cruster::select! {
///                 paid = self.receive::<Paid>() => cents = cents.saturating_sub(paid?.cents),
///                 canceled = self.receive::<Canceled>() => {
///                     canceled?;
///                     return Ok(false);
///                 }
///             }
///         }
///         Ok(true)
///     }
/// }
/// ```
///
/// Its name is the type's in snake case, `paid` for `Paid`; `#[signal(name = "…")]` gives it
/// another.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a signal",
    note = "derive it beside serde's traits: #[derive(Serialize, Deserialize, Schema, Signal)]"
)]
pub trait Signal: Serialize + DeserializeOwned + Schema + 'static {
    /// Its name.
    const NAME: &'static str;
    /// The entry in the manifest.
    #[doc(hidden)]
    const DEFINITION: SignalDefinition = {
        names::check("the name of a signal", Self::NAME);
        SignalDefinition {
            name: Self::NAME,
            value: Self::schema,
            info: SignalDefinition::describe,
        }
    };
}

/// A workflow that accepts a signal. `#[workflow_impl(signals(…))]` implements it.
#[diagnostic::on_unimplemented(
    message = "the workflow `{Self}` does not accept the signal `{S}`",
    label = "no client could send it",
    note = "list the signals that a workflow accepts: #[workflow_impl(signals({S}))]"
)]
pub trait Accepts<S: Signal>: Workflow {}

/// The next signal of a type; see [`WorkflowContext::receive`].
#[must_use = "a signal is not received unless its future is awaited"]
pub struct Receive<S> {
    next: Next,
    signal: PhantomData<fn() -> S>,
}

impl<S: Signal> Future for Receive<S> {
    type Output = Result<S>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<S>> {
        match Pin::new(&mut self.next).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(e)) => Poll::Ready(Err(e)),
            Poll::Ready(Ok(raw)) => {
                let misfit = format_args!("the value of signal {} does not fit", S::NAME);
                self.next.core().read(&raw, misfit)
            }
        }
    }
}

impl<W> WorkflowContext<W> {
    /// Waits for the next signal of a type.
    ///
    /// Signals of one type are received in the order in which they were sent, each of them
    /// once. Futures get them in the order in which they were first polled. Dropping one,
    /// for instance in a [`select!`](crate::select) that something else has won, loses no
    /// signal: the next future gets it.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[derive(Serialize, Deserialize, Schema, Signal)]
    /// # pub struct Approved {
    /// #     by: String,
    /// # }
    /// # #[workflow]
    /// # pub struct Example;
    /// #[workflow_impl(signals(Approved))]
    /// impl Example {
    ///     async fn execute(&self, _: ()) -> Result<String, Error> {
    ///         let approved: Approved = self.receive().await?;
    ///         Ok(approved.by)
    ///     }
    /// }
    /// ```
    #[track_caller]
    pub fn receive<S: Signal>(&self) -> Receive<S>
    where
        W: Accepts<S>,
    {
        Receive {
            next: Next::new(self.core().clone(), S::NAME),
            signal: PhantomData,
        }
    }

    /// Takes the next signal of a type, if it has arrived. It does not wait: a signal arrives while
    /// the workflow waits for something, and only if it has asked for one before, with this or with
    /// [`receive`](WorkflowContext::receive). So use it between two waits, to take signals that
    /// have arrived meanwhile: one each time.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[derive(Serialize, Deserialize, Schema, Signal)]
    /// # pub struct Faster;
    /// # #[workflow]
    /// # pub struct Example;
    /// #[workflow_impl(signals(Faster))]
    /// impl Example {
    ///     async fn execute(&self, rounds: u32) -> Result<u64, Error> {
    ///         let mut seconds = 60;
    ///         for _ in 0..rounds {
    ///             if self.try_receive::<Faster>()?.is_some() {
    ///                 seconds = 1;
    ///             }
    ///             self.sleep(Duration::from_secs(seconds)).await?;
    ///         }
    ///         Ok(seconds)
    ///     }
    /// }
    /// ```
    pub fn try_receive<S: Signal>(&self) -> Result<Option<S>>
    where
        W: Accepts<S>,
    {
        let mut next = self.receive::<S>();
        match Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Ok(None),
            Poll::Ready(signal) => {
                let signal = signal?;
                self.core().ask_for_signal(S::NAME)?;
                Ok(Some(signal))
            }
        }
    }

    /// Sends a signal to another execution, which is named by its id. It is done once the
    /// signal is durable; when the other workflow receives it is its own affair.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[derive(Serialize, Deserialize, Schema, Signal)]
    /// # pub struct Shipped {
    /// #     parcel: String,
    /// # }
    /// # #[workflow]
    /// # pub struct Example;
    /// # #[workflow_impl]
    /// # impl Example {
    /// async fn execute(&self, order: String) -> Result<(), Error> {
    ///     let parcel = self.uuid();
    ///     self.signal(&order, Shipped { parcel }).await
    /// }
    /// # }
    /// ```
    #[track_caller]
    pub fn signal<S: Signal>(&self, execution: &str, value: S) -> Op<()> {
        let what = format!("signal {}", S::NAME);
        let body = payload::encode(format_args!("the value of {what}"), &value).map(|value| {
            wire::Signal {
                execution: execution.to_owned(),
                name: S::NAME.to_owned(),
                value: Some(value),
            }
            .encode()
        });
        Op::new(self.core(), &SIGNAL, what, body)
    }
}
