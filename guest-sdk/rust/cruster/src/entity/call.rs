//! Calls of entities.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::awaited::Awaited;
use crate::context::InWorkflow;
use crate::entity::EntityContext;
use crate::error::{Error, Result};
use crate::executor::ContextCore;
use crate::host::{ENTITY_CALL, ENTITY_SEND};
use crate::op::{Op, RawOp};
use crate::payload;
use crate::wire::{EntityMessage, Wire};

/// A caller of entities: the `self` of a workflow's `execute`; the [`EntityContext`] of an
/// operation, which can only send; and outside of modules the `Cluster` of the crate
/// `cruster-client`.
#[diagnostic::on_unimplemented(
    message = "entities cannot be called from here",
    label = "this is neither the `self` of a workflow's `execute` nor the `EntityContext` of an operation",
    note = "activities and RPCs cannot call entities: return first, and call them in `execute`"
)]
pub trait CallsEntities {
    /// A call that was not made yet.
    type Call<T: DeserializeOwned>;
    /// The deployment of the caller.
    #[doc(hidden)]
    fn deployment(&self) -> String;
    /// Prepares a call.
    #[doc(hidden)]
    fn prepare<T: DeserializeOwned>(&self, message: Result<EntityMessage>) -> Self::Call<T>;
}

#[diagnostic::do_not_recommend]
impl<W: InWorkflow> CallsEntities for W {
    type Call<T: DeserializeOwned> = EntityCall<T>;

    fn deployment(&self) -> String {
        self.context().0.invocation.deployment().to_owned()
    }

    #[track_caller]
    fn prepare<T: DeserializeOwned>(&self, message: Result<EntityMessage>) -> EntityCall<T> {
        EntityCall {
            core: self.context().clone(),
            awaited: Awaited::here(ENTITY_CALL.name),
            state: State::New(message),
            result: PhantomData,
        }
    }
}

impl CallsEntities for EntityContext {
    type Call<T: DeserializeOwned> = EntitySend;

    fn deployment(&self) -> String {
        self.attempt().0.invocation.deployment().to_owned()
    }

    fn prepare<T: DeserializeOwned>(&self, message: Result<EntityMessage>) -> EntitySend {
        EntitySend {
            cx: self.handle(),
            message,
        }
    }
}

/// A call of an entity that yields a `T`, made by a workflow. Await it for the result of
/// the operation, or [send](EntityCall::send) it.
///
/// ```
/// # use cruster::prelude::*;
/// # #[stateful_entity]
/// # #[derive(Default, Serialize, Deserialize, Schema)]
/// # pub struct Account {
/// #     cents: i64,
/// # }
/// # #[operations]
/// # impl Account {
/// #     fn deposit(&mut self, cents: i64) -> i64 {
/// #         self.cents += cents;
/// #         self.cents
/// #     }
/// # }
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// async fn execute(&self, cents: i64) -> Result<i64, Error> {
///     Account::client(self, "bob").deposit(-cents).send().await?;
///     Account::client(self, "ada").deposit(cents).await
/// }
/// # }
/// ```
#[must_use = "an entity is not called unless its call is awaited or sent"]
pub struct EntityCall<T> {
    core: ContextCore,
    awaited: Awaited,
    state: State,
    result: PhantomData<fn() -> T>,
}

enum State {
    New(Result<EntityMessage>),
    Issued { op: RawOp, what: String },
}

impl<T> EntityCall<T> {
    /// Sends the call without waiting for its result: it is done as soon as the call is
    /// durable. The workflow does not see errors of the operation.
    ///
    /// # Panics
    ///
    /// If the call was polled before.
    #[track_caller]
    pub fn send(self) -> Op<()> {
        let State::New(message) = self.state else {
            panic!("a call of an entity was sent after it was polled");
        };
        let what = message.as_ref().map_or_else(|_| String::new(), name_of);
        let body = message.map(|message| message.encode());
        Op::new(&self.core, &ENTITY_SEND, what, body)
    }
}

impl<T: DeserializeOwned> Future for EntityCall<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let this = &mut *self;
        if let State::New(message) = &mut this.state {
            let message = std::mem::replace(message, Err(Error::canceled()))?;
            this.state = State::Issued {
                op: RawOp::of(
                    this.awaited,
                    this.core.clone(),
                    &ENTITY_CALL,
                    Ok(message.encode()),
                ),
                what: name_of(&message),
            };
        }
        let State::Issued { op, what } = &mut this.state else {
            return Poll::Ready(Err(Error::canceled()));
        };
        match Pin::new(op).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(e)) => Poll::Ready(Err(e)),
            Poll::Ready(Ok(raw)) => this.core.read_result(what, &raw),
        }
    }
}

/// A call of an entity that an operation makes: it can be sent.
#[must_use = "the call is not made unless it is sent"]
pub struct EntitySend {
    cx: EntityContext,
    message: Result<EntityMessage>,
}

impl EntitySend {
    /// Sends the call once the operation is durable. If the operation fails, the call is
    /// not made.
    pub fn send(self) -> Result<()> {
        self.cx.send(self.message?)
    }
}

/// A call of an operation of an entity, with its input encoded.
pub fn message<T: Serialize + ?Sized>(
    entity: String,
    operation: &str,
    input: &T,
) -> Result<EntityMessage> {
    let what = format_args!("the input of operation {operation}");
    Ok(EntityMessage {
        input: Some(payload::encode(what, input)?),
        entity,
        operation: operation.to_owned(),
    })
}

fn name_of(message: &EntityMessage) -> String {
    format!("operation {} of {}", message.operation, message.entity)
}

/// An entity of another deployment, whose types this module does not have: named
/// `deployment/Name/id`.
///
/// ```
/// # use cruster::prelude::*;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// async fn execute(&self, cents: i64) -> Result<i64, Error> {
///     cruster::remote_entity(self, "bank/Account/ada").call("deposit", cents).await
/// }
/// # }
/// ```
pub fn remote_entity<C: CallsEntities>(cx: &C, entity: impl Into<String>) -> RemoteEntity<'_, C> {
    RemoteEntity {
        cx,
        entity: entity.into(),
    }
}

/// An entity that is known by its name; see [`remote_entity`].
pub struct RemoteEntity<'a, C> {
    pub(crate) cx: &'a C,
    pub(crate) entity: String,
}

impl<C: CallsEntities> RemoteEntity<'_, C> {
    /// Calls an operation. Its input is the operation's: its one parameter, a struct of several, or
    /// `()`.
    #[track_caller]
    pub fn call<In: Serialize, Out: DeserializeOwned>(
        &self,
        operation: &str,
        input: In,
    ) -> C::Call<Out> {
        self.cx
            .prepare(message(self.entity.clone(), operation, &input))
    }
}
