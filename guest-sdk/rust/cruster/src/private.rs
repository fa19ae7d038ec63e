//! Items for the expanded macros. They are not a public API.
//!
//! `tests/expanded.rs` is the expansion of a workflow and a group, written out.
//! Some premises of that file:
//!
//! - `ActivityDefinition` has a field `origin`, a path that tells where the
//!   activity is defined: `concat!(module_path!(), "::Payments::charge")`. The
//!   same name with another origin is refused by `module!`.
//! - `WorkflowDefinition::key_fn` is `Option<fn(&[u8]) -> Outcome>`; its body is
//!   one call of [`derive_key`], with [`hashed_key`] or [`raw_key`].
//! - Retry policies are [`RetryPolicy`]: `backoff: Some(Backoff::__of(exponential,
//!   base_in_nanoseconds_or_0))`, or `None` if neither backoff nor base was given.
//!   `timeout` is in nanoseconds, 0 if it was not given.
//! - Layers and views are `Clone` and implement `InWorkflow`, whose one method
//!   `context` is hidden from docs.
//! - An activity of several parameters has an input struct with derived
//!   `Serialize`, `Deserialize` (`#[serde(crate = "::cruster::serde")]`) and
//!   `Schema`; one without parameters has the input `()`.
//! - Keys of activities (`#[activity(key = |…| …)]`) are applied with
//!   `ActivityCall::key` by the stub.
//! - `spawn` and `join!` take futures of `Result<T, Error>`.

pub use crate::activity::{ActivityContext, run_activity};
pub use crate::activity_call::activity_call;
pub use crate::attempt::Attempt;
pub use crate::combine::{Join, Select, Selected};
pub use crate::context::{InWorkflow, WorkflowContext};
pub use crate::declared::{QueryDefinition, SignalDefinition};
pub use crate::definition::{ActivityDefinition, KeyMode, Start, WorkflowDefinition};
pub use crate::entity::{
    ByClone, ByEncoding, EntityDefinition, EntityOptions, EntityType, OperationDefinition, Probe,
    Reached, ReachesEntity, RpcContext, StateDefinition, decode_state, entity_name, has_rpc,
    message, operation_input, operation_output, rpc_groups_are_apart, rpc_is_free, rpcs_meet,
    run_call, run_operations, run_rpc, unknown_operation,
};
pub use crate::executor::{ContextCore, LocalFuture};
pub use crate::groups::{groups_are_apart, has, meet, name_is_free};
pub use crate::host::{Call, Host};
pub use crate::module::{Group, given};
pub use crate::owner::{Given, Owner};
pub use crate::publish::Publication;
pub use crate::retry_policy::{Backoff, RetryPolicy};
pub use crate::schedule::schedule_input;
pub use crate::schema::{Field, Shape};
pub use crate::update::listen;
pub use crate::wire;
pub use crate::workflow::{derive_key, hashed_key, key_of, key_text, raw_key, run_workflow};

// Items for the crate `cruster-client`.
pub use crate::codes::{
    BAD_CONFIG, BAD_INPUT, BAD_REQUEST, Code, DEADLINE, INTERNAL, OPERATION_INPUT,
    PAYLOAD_TOO_LARGE, UNREACHABLE,
};
pub use crate::payload::{from_bytes, to_bytes};

#[cfg(target_family = "wasm")]
pub use crate::exports;
