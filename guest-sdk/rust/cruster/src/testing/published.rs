//! The published values of the executions of a test.

use std::collections::BTreeMap;

use crate::codec;
use crate::publish::{Attribute, State};
use crate::value::Value;
use crate::wire::{self, Wire};

/// The published values of an execution.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Published {
    /// Its state, by name.
    pub state: BTreeMap<String, Value>,
    /// Its attributes, by name.
    pub attributes: BTreeMap<String, Value>,
    /// How much is done, of how much, and words about it.
    pub progress: Option<(u64, u64, String)>,
}

impl Published {
    /// A state; `None` if there is none.
    ///
    /// # Panics
    ///
    /// If it is of another type.
    pub fn state<S: State>(&self) -> Option<S> {
        let value = self.state.get(S::NAME)?;
        let state = codec::decode(&value.encode());
        Some(state.unwrap_or_else(|e| panic!("the state {}: {e}", S::NAME)))
    }

    /// An attribute; `None` if there is none.
    pub fn attribute<A: Attribute>(&self) -> Option<&Value> {
        self.attributes.get(A::NAME)
    }

    pub(crate) fn merge(&mut self, publish: wire::Publish) {
        merge(&mut self.state, publish.state);
        merge(&mut self.attributes, publish.attributes);
        if let Some(progress) = publish.progress {
            self.progress = Some((progress.done, progress.total, progress.note));
        }
    }
}

fn merge(values: &mut BTreeMap<String, Value>, changes: Option<Vec<wire::Published>>) {
    for change in changes.into_iter().flatten() {
        match change.value.and_then(|value| Value::decode(&value).ok()) {
            Some(value) => values.insert(change.name, value),
            None => values.remove(&change.name),
        };
    }
}
