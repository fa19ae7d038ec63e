//! The messages and values that a workflow declares, as constants.

use crate::names::{goes_on, same};
use crate::schema::Shape;
use crate::wire::{self, Encoded};

/// A signal of a workflow. `#[derive(Signal)]` makes it.
#[derive(Clone, Copy)]
pub struct SignalDefinition {
    /// Its name.
    pub name: &'static str,
    /// The shape of its value.
    pub value: fn() -> Shape,
    /// Describes it.
    pub info: fn(&SignalDefinition) -> Encoded,
}

impl SignalDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::SignalInfo {
            name: self.name.to_owned(),
            value: Some(Box::new((self.value)().into_wire())),
        };
        Encoded::new(self.name, &info)
    }
}

/// A deferred of a workflow, or all deferreds whose names begin alike.
#[derive(Clone, Copy)]
pub struct DeferredDefinition {
    /// Its name, or how names begin.
    pub name: &'static str,
    /// Names are made while the workflow runs.
    pub dynamic: bool,
    /// The shape of its resolution.
    pub value: fn() -> Shape,
    /// Describes it.
    pub info: fn(&DeferredDefinition) -> Encoded,
}

impl DeferredDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::DeferredInfo {
            dynamic: self.dynamic,
            name: self.name.to_owned(),
            value: Some(Box::new((self.value)().into_wire())),
        };
        Encoded::new(self.name, &info)
    }

    /// Whether a name is one of these.
    pub(crate) const fn has(&self, name: &str) -> bool {
        match self.dynamic {
            true => goes_on(name, self.name),
            false => same(name, self.name),
        }
    }

    /// Whether a name could be one of both: then its type would be in doubt.
    pub(crate) const fn meets(&self, other: &DeferredDefinition) -> bool {
        same(self.name, other.name) || self.has(other.name) || other.has(self.name)
    }
}

/// A query of a workflow. `#[derive(Query)]` makes it.
#[derive(Clone, Copy)]
pub struct QueryDefinition {
    /// Its name.
    pub name: &'static str,
    /// The shape of its input.
    pub input: fn() -> Shape,
    /// The shape of the answer.
    pub output: fn() -> Shape,
    /// Describes it.
    pub info: fn(&QueryDefinition) -> Encoded,
}

impl QueryDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::QueryInfo {
            input: Some(Box::new((self.input)().into_wire())),
            name: self.name.to_owned(),
            output: Some(Box::new((self.output)().into_wire())),
        };
        Encoded::new(self.name, &info)
    }
}

/// An update of a workflow. `#[derive(Update)]` makes it.
#[derive(Clone, Copy)]
pub struct UpdateDefinition {
    /// Its name.
    pub name: &'static str,
    /// The shape of its request.
    pub input: fn() -> Shape,
    /// The shape of the answer.
    pub output: fn() -> Shape,
    /// The workflow can tell beforehand whether it would refuse one.
    pub validated: bool,
    /// Describes it.
    pub info: fn(&UpdateDefinition) -> Encoded,
}

impl UpdateDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::UpdateInfo {
            input: Some(Box::new((self.input)().into_wire())),
            name: self.name.to_owned(),
            output: Some(Box::new((self.output)().into_wire())),
            validated: self.validated,
        };
        Encoded::new(self.name, &info)
    }
}

/// A value that the runs of a workflow publish. `#[derive(State)]` makes it.
#[derive(Clone, Copy)]
pub struct StateDefinition {
    /// Its name.
    pub name: &'static str,
    /// Its shape.
    pub value: fn() -> Shape,
    /// Describes it.
    pub info: fn(&StateDefinition) -> Encoded,
}

impl StateDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::StateInfo {
            name: self.name.to_owned(),
            value: Some(Box::new((self.value)().into_wire())),
        };
        Encoded::new(self.name, &info)
    }
}

/// An attribute of a workflow. `#[derive(Attribute)]` makes it.
#[derive(Clone, Copy)]
pub struct AttributeDefinition {
    /// Its name.
    pub name: &'static str,
    /// `text`, `number`, `bool` or `time`.
    pub kind: &'static str,
    /// Describes it.
    pub info: fn(&AttributeDefinition) -> Encoded,
}

impl AttributeDefinition {
    pub(crate) fn describe(&self) -> Encoded {
        let info = wire::AttributeInfo {
            name: self.name.to_owned(),
            kind: self.kind.to_owned(),
        };
        Encoded::new(self.name, &info)
    }
}
