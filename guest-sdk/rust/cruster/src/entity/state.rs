//! Entities with a state, as types.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::codes;
use crate::entity::{CallsEntities, Entity, EntityContext, EntityOptions};
use crate::error::{Error, Result};
use crate::payload;
use crate::schema::Schema;
use crate::section::EntityId;

/// The state of an entity. `#[stateful_entity]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the state of an entity",
    note = "mark the struct with #[stateful_entity]"
)]
pub trait EntityState: Default + Serialize + DeserializeOwned + Schema + 'static {
    /// The arguments of the attribute.
    #[doc(hidden)]
    const OPTIONS: EntityOptions;
    /// How many shapes the state had before.
    #[doc(hidden)]
    const VERSION: u32;
    /// Decodes a state of this version or of an older one. `of` is the name of the entity.
    #[doc(hidden)]
    fn restore(of: &str, raw: &[u8], version: u32) -> Result<Self>;
    /// A copy, if the type can be cloned.
    #[doc(hidden)]
    fn copy(&self) -> Option<Self>;
}

/// The operations of an entity with a state. `#[operations]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no operations",
    note = "mark its impl block with #[operations]"
)]
pub trait StatefulEntity: EntityState + Entity {
    /// Runs an operation and encodes its result. The name is one of the definition's.
    #[doc(hidden)]
    fn perform(&mut self, name: &str, cx: &EntityContext, input: &[u8]) -> Result<Vec<u8>>;
    /// Runs when an entity comes to be, before its first operation.
    #[doc(hidden)]
    fn created(&mut self, cx: &EntityContext) -> Result<()>;
    /// Names the entity of an id, for a [lock](crate::WorkflowContext::lock). The trait has to
    /// be in scope, as it is with the prelude.
    fn id(id: impl Into<String>) -> EntityId {
        EntityId::of::<Self>(id.into())
    }
}

/// Decodes a state, or one of its old shapes.
pub fn decode_state<T: DeserializeOwned>(of: &str, raw: &[u8], version: u32) -> Result<T> {
    codec::decode(raw).map_err(|e| unfit(of, version, &e))
}

/// The hint on a state of another shape than the code has: the code's own hint is about states of
/// newer code. The SDK for Go has the same.
const UNFIT: &str = "A change of the shape of a state needs a migration, migrate(...) of #[stateful_entity]; for a new field #[serde(default)] will do.";

/// Not one for each type of state.
#[cold]
#[inline(never)]
fn unfit(of: &str, version: u32, e: &dyn fmt::Display) -> Error {
    let message = format!("the state of {of}, version {version}, does not fit: {e}");
    Error::with_code(&codes::STATE_VERSION, message).with_hint(UNFIT)
}

/// Decodes the input of an operation.
pub fn operation_input<T: DeserializeOwned>(name: &str, raw: &[u8]) -> Result<T> {
    let misfit = format_args!("the input does not fit operation {name}");
    payload::decode(raw, &codes::OPERATION_INPUT, misfit)
}

/// Encodes the result of an operation.
pub fn operation_output<T: Serialize>(name: &str, value: &T) -> Result<Vec<u8>> {
    payload::encode(format_args!("the result of operation {name}"), value)
}

/// The error for an operation that there is not.
pub fn unknown_operation<E: Entity>(name: &str) -> Error {
    let message = format!("{} has no operation {name}", E::NAME);
    Error::with_code(&codes::UNKNOWN_OPERATION, message)
}

/// The name of an entity of the caller's deployment. An id with a `/` needs the whole name.
pub fn entity_name<E: Entity>(cx: &impl CallsEntities, id: impl Into<String>) -> String {
    name_in(&cx.deployment(), E::NAME, &id.into())
}

/// The name of an entity of a deployment, as its own workflows call it.
pub(crate) fn name_in(deployment: &str, name: &str, id: &str) -> String {
    match id.contains('/') {
        true => format!("{deployment}/{name}/{id}"),
        false => format!("{name}/{id}"),
    }
}

/// Finds out whether a type can be cloned: `(&&Probe(&state)).copy()` takes [`ByClone`]
/// if it can, and [`ByEncoding`] otherwise.
pub struct Probe<'a, T>(pub &'a T);

/// The type can be cloned.
pub trait ByClone<T> {
    /// A clone.
    fn copy(&self) -> Option<T>;
}

impl<T: Clone> ByClone<T> for &Probe<'_, T> {
    fn copy(&self) -> Option<T> {
        Some(self.0.clone())
    }
}

/// The type cannot be cloned.
pub trait ByEncoding<T> {
    /// Nothing: the state has to be encoded.
    fn copy(&self) -> Option<T>;
}

impl<T> ByEncoding<T> for Probe<'_, T> {
    fn copy(&self) -> Option<T> {
        None
    }
}
