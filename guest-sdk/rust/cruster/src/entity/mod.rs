//! Entities: things with an id that are reached by calls.

mod batch;
#[cfg(test)]
mod batch_test;
mod call;
mod context;
mod definition;
mod groups;
mod rpc;
mod state;

pub use batch::run_operations;
pub use call::{CallsEntities, EntityCall, EntitySend, RemoteEntity, message, remote_entity};
pub use context::{EntityContext, WorkflowStarter};
pub use definition::{EntityDefinition, EntityOptions, OperationDefinition, StateDefinition};
pub use groups::{has_rpc, rpc_groups_are_apart, rpc_is_free, rpcs_meet};
pub use rpc::{EntityType, Reached, ReachesEntity, RpcContext, RpcGroup, run_call, run_rpc};
pub(crate) use state::name_in;
pub use state::{
    ByClone, ByEncoding, EntityState, Probe, StatefulEntity, decode_state, entity_name,
    operation_input, operation_output, unknown_operation,
};

/// A type of entity, with a state or without. `#[operations]` and `#[entity_impl]`
/// implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity",
    note = "with a state: mark the struct with #[stateful_entity] and its impl block with #[operations]",
    note = "without: mark the struct with #[entity] and its impl block with #[entity_impl]"
)]
pub trait Entity: 'static {
    /// Its name.
    const NAME: &'static str;
    /// The entry in the module.
    #[doc(hidden)]
    const DEFINITION: EntityDefinition;
}
