//! The states of a test's entities, their locks, and the calls to them.

use std::collections::{BTreeMap, VecDeque};

use crate::entity::{EntityDefinition, OperationDefinition};
use crate::module::Module;
use crate::wire::Settled;

/// The states of entities, and the calls that wait.
#[derive(Default)]
pub(crate) struct EntityStore {
    /// By the whole name of an entity.
    pub(crate) states: BTreeMap<String, Stored>,
    pub(crate) locks: BTreeMap<String, Holder>,
    pub(crate) calls: VecDeque<Posted>,
    /// Calls that wait for the end of a critical section.
    pub(crate) waiting: Vec<Posted>,
}

/// A state with the version of its shape.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) raw: Vec<u8>,
    pub(crate) version: u32,
}

/// A call that was accepted.
pub(crate) struct Target {
    /// The whole name of the entity.
    pub(crate) name: String,
    pub(crate) module: &'static Module,
    pub(crate) entity: &'static EntityDefinition,
    pub(crate) operation: &'static OperationDefinition,
    pub(crate) input: Vec<u8>,
}

/// A waiting call, and the receiver of its outcome.
pub(crate) struct Posted {
    pub(crate) work: Work,
    /// The execution that waits for it.
    pub(crate) from: Option<String>,
    pub(crate) then: Box<dyn FnOnce(Settled)>,
}

/// A request to an entity.
pub(crate) enum Work {
    Operation(Target),
    Lock { entity: String, by: Holder },
}

impl Work {
    pub(crate) fn entity(&self) -> &str {
        match self {
            Work::Operation(target) => &target.name,
            Work::Lock { entity, .. } => entity,
        }
    }
}

/// The holder of an entity's lock: an execution, with the number of its op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) execution: String,
    pub(crate) op: u32,
}
