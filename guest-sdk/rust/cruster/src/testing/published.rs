//! The published values of the executions of a test.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::codec;
use crate::error::{Error, Result};
use crate::publish::{Attribute, State};
use crate::testing::Test;
use crate::testing::places::Moment;
use crate::testing::run::{Run, no_execution};
use crate::testing::signals::Api;
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

    fn merge(&mut self, publish: wire::Publish) {
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

impl Run {
    pub(crate) fn publish(&self, publish: wire::Publish) {
        self.published.borrow_mut().merge(publish);
    }
}

impl Test {
    /// Looks at the published values of the execution, at a virtual time after its start.
    pub fn look_after(self, time: Duration, look: impl Fn(&Published) + 'static) -> Self {
        self.look_at(Moment::After(time), look)
    }

    pub(crate) fn look_at(self, moment: Moment, look: impl Fn(&Published) + 'static) -> Self {
        self.outside(moment, move |run| look(&run.published.borrow()))
    }
}

impl Api {
    /// The published values of an execution, which is named by its id.
    pub fn published(&self, execution: &str) -> Result<Published> {
        let run = self.world()?.run(execution);
        let run = run.ok_or_else(|| Error::from_fault(no_execution(execution)))?;
        let published = run.published.borrow().clone();
        Ok(published)
    }
}
