//! Entities without a state: their RPCs, and the context of these.

use std::future::Future;
use std::ops::Deref;
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attempt::Attempt;
use crate::codes;
use crate::effects::{effects, poll_once};
use crate::entity::{
    CallsEntities, Entity, EntityOptions, OperationDefinition, RemoteEntity, message,
    operation_input, operation_output, unknown_operation,
};
use crate::error::{Error, Result};
use crate::owner::{self, Owner};
use crate::wire::{EntityCall, Outcome, Wire};

/// The effects that an RPC of an entity without a state may have: `self` in an RPC
/// dereferences to this, and this to the fields of the entity or group.
///
/// An RPC runs in one go. It cannot wait for durable calls, nor call other entities: a
/// workflow does that, and calls the entity.
pub struct RpcContext<E> {
    attempt: Attempt,
    owner: Rc<E>,
}

impl<E> RpcContext<E> {
    /// The id of the entity that was called.
    pub fn id(&self) -> &str {
        self.attempt.entity_id()
    }

    /// A key that all attempts of a persisted call share and no other call has. Pass it to
    /// services that do the same thing once per key. It is empty if the RPC is not
    /// persisted.
    pub fn idempotency_key(&self) -> &str {
        &self.invocation().idempotency_key
    }
}

effects! {
    RpcContext,
    belongs: "entity",
    attempt: "call",
    transaction: "call",
    result: "the reply of the call",
}

/// A struct that is an entity without a state. `#[entity]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity without a state",
    note = "mark the struct with #[entity]"
)]
pub trait EntityType: 'static {
    /// The arguments of the attribute.
    const OPTIONS: EntityOptions;
}

/// A set of RPCs that several entities can be composed of. `#[rpc_group_impl]` implements
/// it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an RPC group",
    note = "mark the struct with #[rpc_group] and its impl block with #[rpc_group_impl]"
)]
pub trait RpcGroup: Default + 'static {
    /// The entries of the entities that have the group.
    #[doc(hidden)]
    const OPERATIONS: &'static [OperationDefinition];
    /// A wrapper of an entity's client that adds the calls of the group's RPCs.
    #[doc(hidden)]
    type Calls<Inner: ReachesEntity>: ReachesEntity + Deref<Target = Inner>;
    /// Wraps the client of an entity.
    #[doc(hidden)]
    fn calls<Inner: ReachesEntity>(inner: Inner) -> Self::Calls<Inner>;
}

/// The client of an entity, or a layer of it.
pub trait ReachesEntity {
    /// The caller.
    type Caller: CallsEntities;
    /// Prepares a call.
    fn reach<In: Serialize + ?Sized, Out: DeserializeOwned>(
        &self,
        operation: &str,
        input: &In,
    ) -> Reached<Self, Out>;
}

/// A call of the client of an entity.
pub type Reached<R, Out> = <<R as ReachesEntity>::Caller as CallsEntities>::Call<Out>;

impl<C: CallsEntities> ReachesEntity for RemoteEntity<'_, C> {
    type Caller = C;

    #[track_caller]
    fn reach<In: Serialize + ?Sized, Out: DeserializeOwned>(
        &self,
        operation: &str,
        input: &In,
    ) -> C::Call<Out> {
        let message = message(self.entity.clone(), operation, input);
        self.cx.prepare(message)
    }
}

/// Runs the call of an invocation.
pub fn run_call<E: Entity>(attempt: Attempt) -> Outcome {
    let body = attempt.0.invocation.body.as_deref().unwrap_or_default();
    let call = match EntityCall::decode(body) {
        Ok(call) => call,
        Err(e) => {
            let message = format!("the call does not decode: {e}");
            return Outcome::failed(codes::BAD_BODY.fault(message));
        }
    };
    let name = call.operation.as_str();
    let found = E::DEFINITION.all().find(|o| o.name == name);
    match found.and_then(|o| o.run) {
        None => Outcome::failed(unknown_operation::<E>(name).of_operation()),
        Some(run) => run(attempt, &call.input.unwrap_or_default()),
    }
}

/// Runs one RPC.
pub fn run_rpc<E, In, Out, Fail, F>(
    attempt: Attempt,
    name: &str,
    input: &[u8],
    body: impl FnOnce(RpcContext<E>, In) -> F,
) -> Outcome
where
    E: Owner,
    In: DeserializeOwned,
    Out: Serialize,
    Fail: Into<Error>,
    F: Future<Output = Result<Out, Fail>>,
{
    let owner = owner::of(attempt.0.given);
    operation_input(name, input)
        .and_then(|input| {
            let future = body(RpcContext { attempt, owner }, input);
            poll_once(format_args!("RPC {name}"), future)
        })
        .and_then(|out| operation_output(name, &out))
        .map_err(|e| e.of_operation())
        .into()
}
