//! The definitions of workflows and activities, as constants.

use std::panic::Location;

use crate::attempt::Attempt;
use crate::declared::{
    AttributeDefinition, DeferredDefinition, QueryDefinition, SignalDefinition, StateDefinition,
    UpdateDefinition,
};
use crate::executor::{ContextCore, LocalFuture};
use crate::owner::Given;
use crate::retry_policy::RetryPolicy;
use crate::schema::Shape;
use crate::wire::{Fault, Outcome};

/// How an execution of a workflow gets its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMode {
    /// SHA-256 of the request.
    Request,
    /// SHA-256 of the result of the key function.
    FunctionHashed,
    /// The result of the key function, which is a string.
    FunctionRaw,
}

impl KeyMode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            KeyMode::Request => "request",
            KeyMode::FunctionHashed => "function_hashed",
            KeyMode::FunctionRaw => "function_raw",
        }
    }
}

/// The arguments of a workflow's code.
pub struct Start {
    pub(crate) core: ContextCore,
    pub(crate) body: Vec<u8>,
    pub(crate) given: &'static [Given],
}

/// Has a workflow take updates.
pub(crate) type Listen = fn(&ContextCore) -> Result<(), Box<Fault>>;

/// A workflow of a module. `#[workflow_impl]` makes it.
#[derive(Clone, Copy)]
pub struct WorkflowDefinition {
    /// Its name.
    pub name: &'static str,
    /// The line of its `execute`.
    pub begins: &'static Location<'static>,
    /// Where its keys come from.
    pub key: KeyMode,
    /// The shape of its request.
    pub input: fn() -> Shape,
    /// The shape of its result.
    pub output: fn() -> Shape,
    /// Runs it.
    pub run: fn(Start) -> LocalFuture<Outcome>,
    /// Returns the encoded key of a request; `None` if the host derives the key.
    pub key_fn: Option<fn(&[u8]) -> Outcome>,
    /// Its own activities.
    pub activities: &'static [ActivityDefinition],
    /// The activities of the groups that it uses.
    pub groups: &'static [&'static [ActivityDefinition]],
    /// The signals that it can be sent.
    pub signals: &'static [SignalDefinition],
    /// The deferreds that can be settled.
    pub deferreds: &'static [DeferredDefinition],
    /// The queries that it answers.
    pub queries: &'static [QueryDefinition],
    /// The updates that it takes.
    pub updates: &'static [UpdateDefinition],
    /// The values its runs publish.
    pub state: &'static [StateDefinition],
    /// The attributes its runs are found by.
    pub attributes: &'static [AttributeDefinition],
    /// Begins to take updates; `None` if it takes none.
    pub listen: Option<Listen>,
}

/// An activity of a module. `#[activity]` makes it.
#[derive(Clone, Copy)]
pub struct ActivityDefinition {
    /// Its name.
    pub name: &'static str,
    /// The path of its definition. The same name with two origins is a mistake; the
    /// same group in two workflows is not.
    pub origin: &'static str,
    /// The shape of its input.
    pub input: fn() -> Shape,
    /// The shape of its result.
    pub output: fn() -> Shape,
    /// The retry policy, unless a call sets another.
    pub retry: RetryPolicy,
    /// Bounds one attempt, in nanoseconds; 0 leaves that to the host.
    pub timeout: u64,
    /// Runs one attempt.
    pub run: fn(Attempt) -> Outcome,
}
