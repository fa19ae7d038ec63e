//! The definitions of entities, as constants.

use crate::attempt::Attempt;
use crate::names::{self, fail, same, sort};
use crate::nanos::clamp;
use crate::schema::Shape;
use crate::wire::{self, Encoded, EntityInfo, OperationInfo, Outcome};

/// An entity of a module. `#[operations]` and `#[entity_impl]` make it.
#[derive(Clone, Copy)]
pub struct EntityDefinition {
    /// The options of its struct.
    pub options: EntityOptions,
    /// Its state, if it has one.
    pub state: Option<StateDefinition>,
    /// Its own operations.
    pub operations: &'static [OperationDefinition],
    /// The operations of the groups that it is composed of.
    pub groups: &'static [&'static [OperationDefinition]],
    /// Runs operations.
    pub run: fn(Attempt) -> Outcome,
    /// Describes it: [`EntityDefinition::describe`].
    pub info: fn(&EntityDefinition) -> Encoded,
}

/// The options of an entity. Zero leaves a choice to the host.
#[derive(Debug, Clone, Copy)]
pub struct EntityOptions {
    /// Its name.
    pub name: &'static str,
    /// How many calls of one entity run at the same time.
    pub concurrency: u32,
    /// How long an entity without calls stays in memory, in nanoseconds.
    pub idle_time: u64,
    /// How many calls of one entity may wait.
    pub mailbox: u32,
    /// The group of hosts that serve it; empty for the default one.
    pub shard_group: &'static str,
}

/// The state of an entity.
#[derive(Clone, Copy)]
pub struct StateDefinition {
    /// The shape that it has now.
    pub shape: fn() -> Shape,
    /// How many shapes it had before.
    pub version: u32,
}

/// An operation of an entity.
#[derive(Clone, Copy)]
pub struct OperationDefinition {
    /// Its name.
    pub name: &'static str,
    /// The shape of its input.
    pub input: fn() -> Shape,
    /// The shape of its result.
    pub output: fn() -> Shape,
    /// A call is saved before it runs.
    pub persisted: bool,
    /// It does not change the state.
    pub read_only: bool,
    /// Runs it with its input, if the entity has no state.
    pub run: Option<fn(Attempt, &[u8]) -> Outcome>,
}

impl EntityDefinition {
    /// All operations, of the entity and of its groups.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static OperationDefinition> {
        let groups = self.groups.iter().copied().flatten();
        self.operations.iter().chain(groups)
    }

    /// Describes the entity.
    pub fn describe(&self) -> Encoded {
        let mut operations: Vec<OperationInfo> = self.all().map(operation_info).collect();
        sort(&mut operations, |a, b| a.name < b.name);
        let info = EntityInfo {
            concurrency: self.options.concurrency,
            idle_time: clamp(self.options.idle_time),
            mailbox: self.options.mailbox,
            name: self.options.name.to_owned(),
            operations: Some(operations),
            shard_group: self.options.shard_group.to_owned(),
            state: self.state.map(|state| shape(state.shape)),
            state_version: self.state.map_or(0, |state| state.version),
        };
        Encoded::new(self.options.name, &info)
    }

    /// Checks the names of the entity and its operations.
    pub(crate) const fn check(&self) {
        names::check("the name of an entity", self.options.name);
        let mut n = 0;
        while let Some(operation) = self.operation(n) {
            names::check("the name of an operation", operation.name);
            let mut other = 0;
            while other < n {
                if let Some(earlier) = self.operation(other) {
                    if same(earlier.name, operation.name) {
                        fail(&[
                            "the entity `",
                            self.options.name,
                            "` has two operations named `",
                            operation.name,
                            "`",
                        ]);
                    }
                }
                other += 1;
            }
            n += 1;
        }
        if n == 0 {
            fail(&["the entity `", self.options.name, "` has no operations"]);
        }
    }

    /// The operations one after the other, in constants.
    const fn operation(&self, n: usize) -> Option<&'static OperationDefinition> {
        if n < self.operations.len() {
            return Some(&self.operations[n]);
        }
        let mut left = n - self.operations.len();
        let mut g = 0;
        while g < self.groups.len() {
            if left < self.groups[g].len() {
                return Some(&self.groups[g][left]);
            }
            left -= self.groups[g].len();
            g += 1;
        }
        None
    }
}

fn shape(f: fn() -> Shape) -> Box<wire::Schema> {
    Box::new(f().into_wire())
}

fn operation_info(o: &'static OperationDefinition) -> OperationInfo {
    OperationInfo {
        input: Some(shape(o.input)),
        name: o.name.to_owned(),
        output: Some(shape(o.output)),
        persisted: o.persisted,
        read_only: o.read_only,
    }
}
