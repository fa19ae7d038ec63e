//! Updates: requests that change running workflows, and are answered.

use std::future::Future;
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codes;
use crate::context::WorkflowContext;
use crate::declared::UpdateDefinition;
use crate::error::Result;
use crate::executor::{ContextCore, updating::Handler};
use crate::host::{ANSWER, UPDATE};
use crate::names;
use crate::payload;
use crate::query::{Answer, NoQuery};
use crate::schema::Schema;
use crate::wire::{self, Delivery, Fault, NIL, Outcome, Settled, UpdateRequest, Wire};
use crate::workflow::Workflow;

/// A request that changes a running workflow, and is answered. Derive it beside serde's traits; the
/// value of the type is the update's request.
///
/// A workflow lists the updates that it takes, and says early in `execute` how it
/// [handles](WorkflowContext::on_update) each of them. A client waits for the answer. An update
/// is durable: the workflow gets it once, also if a host stops meanwhile.
///
/// ```
/// use cruster::prelude::*;
/// use std::{cell::Cell, rc::Rc};
///
/// /// Puts something into the cart, and answers with its price by now.
/// #[derive(Serialize, Deserialize, Schema, Update)]
/// #[update(answer = u64, validated)]
/// pub struct Add {
///     pub cents: u64,
/// }
///
/// #[derive(Serialize, Deserialize, Schema, Signal)]
/// pub struct CheckOut;
///
/// #[workflow]
/// pub struct Cart;
///
/// #[workflow_impl(updates(Add), signals(CheckOut))]
/// impl Cart {
///     async fn execute(&self, limit: u64) -> Result<u64, Error> {
///         let sum = Rc::new(Cell::new(0));
///
///         let seen = sum.clone();
///         self.check_update(move |add: &Add| match seen.get() + add.cents <= limit {
///             true => Ok(()),
///             false => Err(cruster::err!("too_much", "the limit is {limit}")),
///         });
///         let (this, changed) = (self.clone(), sum.clone());
///         self.on_update(move |add: Add| {
///             let (this, sum) = (this.clone(), changed.clone());
///             async move {
///                 this.reserve(add.cents).await?;
///                 sum.set(sum.get() + add.cents);
///                 Ok(sum.get())
///             }
///         });
///
///         self.receive::<CheckOut>().await?;
///         Ok(sum.get())
///     }
///
///     #[activity(retries = 5)]
///     async fn reserve(&self, cents: u64) -> Result<(), Error> {
///         self.transaction().execute("UPDATE stock SET reserved = reserved + $1", (cents,))?;
///         Ok(())
///     }
/// }
/// ```
///
/// Its name is the type's in snake case, `add` for `Add`; `#[update(name = "…")]` gives it another.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an update",
    note = "derive it beside serde's traits: #[derive(Serialize, Deserialize, Schema, Update)]"
)]
pub trait Update: Serialize + DeserializeOwned + Schema + 'static {
    /// The answer.
    type Answer: Serialize + DeserializeOwned + Schema + 'static;
    /// Its name.
    const NAME: &'static str;
    /// The workflow can tell beforehand whether it would refuse one.
    #[doc(hidden)]
    const VALIDATED: bool = false;
    /// The entry in the manifest.
    #[doc(hidden)]
    const DEFINITION: UpdateDefinition = {
        names::check("the name of an update", Self::NAME);
        UpdateDefinition {
            name: Self::NAME,
            input: Self::schema,
            output: <Self::Answer as Schema>::schema,
            validated: Self::VALIDATED,
            info: UpdateDefinition::describe,
        }
    };
}

/// An update that a workflow may refuse before it is sent: one with
/// `#[update(validated)]`.
#[diagnostic::on_unimplemented(
    message = "the update `{Self}` is not validated",
    label = "clients would not ask this before they send one",
    note = "say so where it is derived: #[update(answer = …, validated)]"
)]
pub trait Validated: Update {}

/// A workflow that takes an update. `#[workflow_impl(updates(…))]` implements it.
#[diagnostic::on_unimplemented(
    message = "the workflow `{Self}` does not take the update `{U}`",
    label = "no client could send it",
    note = "list the updates that a workflow takes: #[workflow_impl(updates({U}))]"
)]
pub trait Takes<U: Update>: Workflow {}

#[diagnostic::do_not_recommend]
impl Update for NoQuery {
    type Answer = ();
    const NAME: &'static str = "none";
}

#[diagnostic::do_not_recommend]
impl Validated for NoQuery {}

#[diagnostic::do_not_recommend]
impl<W: Workflow> Takes<NoQuery> for W {}

impl<W> WorkflowContext<W> {
    /// Says how the workflow handles an update from here on. Earlier updates wait for
    /// it, so call it early in `execute`.
    ///
    /// Each update is a task of the workflow, which may await durable calls. The tasks begin in the
    /// order in which the updates were sent. Share variables with them in an `Rc`, of a `Cell` or a
    /// `RefCell`; to wait for their effects, use [`until`](WorkflowContext::until). A handler
    /// returns the answer, or a [`Result`] with it; an error is the caller's. If `execute` returns
    /// while a handler is under way, its caller gets `CR-2040`.
    pub fn on_update<U: Update, A, F>(&self, handler: impl Fn(U) -> F + 'static)
    where
        W: Takes<U>,
        A: Answer<U::Answer>,
        F: Future<Output = A> + 'static,
    {
        let run = move |core: &ContextCore, update: UpdateRequest| {
            let handled = core.0.updating.validate(&update).and_then(|()| {
                let input = update.input.as_deref().unwrap_or_default();
                decode(input).map(&handler)
            });
            let future = match handled {
                Ok(future) => future,
                Err(refused) => {
                    let refused = refused.of_answer(&codes::UPDATE_REFUSED);
                    return core.answer(update.id, Err(refused));
                }
            };
            let core_of_task = core.clone();
            core.add_task(
                None,
                Box::pin(async move {
                    let answer = future.await.into_answer().and_then(|value| {
                        payload::encode(format_args!("the answer to update {}", U::NAME), &value)
                    });
                    let reason = core_of_task.interrupt_reason().unwrap_or_default();
                    core_of_task.answer(update.id, answer.map_err(|e| e.of_workflow(&reason)));
                }),
            );
        };
        self.core().handle(U::NAME, Rc::new(run));
    }

    /// Says which updates of a type the workflow refuses from here on. Clients are told
    /// before an update is sent: nothing is written then. It is looked at again when the
    /// update is delivered, before it is handled.
    ///
    /// The closure only looks, as a closure that [answers](WorkflowContext::answer) a query. Call
    /// it before [`on_update`](WorkflowContext::on_update).
    pub fn check_update<U: Validated>(&self, validator: impl Fn(&U) -> Result<()> + 'static)
    where
        W: Takes<U>,
    {
        let run = move |input: &[u8]| decode(input).and_then(|update| validator(&update));
        self.core().0.updating.set_validator(U::NAME, Rc::new(run));
    }
}

fn decode<U: Update>(input: &[u8]) -> Result<U> {
    let misfit = format_args!("the input of update {} does not fit", U::NAME);
    payload::decode(input, &codes::BAD_INPUT, misfit)
}

/// Has a workflow take updates: the op for the next one is there at all times.
pub fn listen(core: &ContextCore) -> Result<(), Box<Fault>> {
    let op = core.0.host.issue(&UPDATE, &wire::Update {}.encode())?;
    core.0.updating.take_by(op, take);
    Ok(())
}

/// Takes in an update, and asks for the next one.
fn take(core: &ContextCore, delivery: &Delivery) {
    if let Err(fault) = listen(core) {
        panic!("{}: {}", fault.code, fault.message);
    }
    let update = UpdateRequest::decode(delivery.value.as_deref().unwrap_or_default());
    let update = update.unwrap_or_else(|e| panic!("an update does not decode: {e}"));
    core.begin_update(update);
}

impl ContextCore {
    /// Takes in an update, if it is the delivery of one.
    pub(crate) fn take_update(&self, delivery: &Delivery) -> bool {
        match self.0.updating.taker(delivery) {
            Some(take) => {
                take(self, delivery);
                true
            }
            None => false,
        }
    }

    fn begin_update(&self, update: UpdateRequest) {
        match self.0.updating.handler(&update.name) {
            Some(handler) => handler(self, update),
            None => self.0.updating.keep(update),
        }
    }

    /// Sets a handler, and lets it have the updates that wait for it.
    fn handle(&self, name: &'static str, handler: Handler<ContextCore>) {
        if self.0.answering.refuses() {
            return;
        }
        for update in self.0.updating.handle(name, handler) {
            self.begin_update(update);
        }
    }

    fn answer(&self, id: String, answer: Settled) {
        let Outcome { error, value, .. } = answer.into();
        let body = wire::Answer { error, id, value }.encode();
        if let Err(refused) = self.issue_and_forget(&ANSWER, &body) {
            panic!("an update cannot be answered: {refused}");
        }
    }

    /// Whether the workflow would refuse an update now.
    pub(crate) fn would_take(&self, query: &wire::Query) -> Outcome {
        let update = UpdateRequest {
            id: String::new(),
            input: query.input.clone(),
            name: query.name.clone(),
        };
        let look = |core: &ContextCore| core.0.updating.validate(&update).map(|()| NIL.to_vec());
        self.look(&codes::UPDATE_REFUSED, look).into()
    }
}
