//! The published values of a run, and its unpublished changes.

use crate::codes;
use crate::error::{Error, Result};
use crate::host::Call;
use crate::names::sort;
use crate::wire;

/// How large the state of a run may be.
const MAX_STATE: usize = 64 << 10;

/// The published values of a run. One op at the end of a turn publishes its changes.
pub(crate) struct Publisher {
    call: &'static Call,
    state: Vec<wire::Published>,
    attributes: Vec<wire::Published>,
    progress: Option<Box<wire::Progress>>,
    /// The unpublished changes.
    changed: wire::Publish,
}

impl Publisher {
    /// Publishes changes by a call of the host.
    pub(crate) fn new(call: &'static Call) -> Self {
        Publisher {
            call,
            state: Vec::new(),
            attributes: Vec::new(),
            progress: None,
            changed: wire::Publish::default(),
        }
    }

    /// The last published state of a name, encoded.
    pub(crate) fn state(&self, name: &str) -> Option<&[u8]> {
        let published = self.state.iter().find(|p| p.name == name)?;
        published.value.as_deref()
    }

    /// Takes the unpublished changes, if there are any, and the call that publishes them.
    pub(crate) fn take_changes(&mut self) -> Option<(&'static Call, wire::Publish)> {
        let changed = std::mem::take(&mut self.changed);
        (changed != wire::Publish::default()).then_some((self.call, changed))
    }

    /// Adds values to the unpublished changes, unless they are published already.
    pub(crate) fn merge(&mut self, new: wire::Publish) -> Result<()> {
        let mut state = self.state.clone();
        let changed_state = changes(&mut state, new.state);
        let size: usize = state
            .iter()
            .filter_map(|p| p.value.as_ref())
            .map(Vec::len)
            .sum();
        if size > MAX_STATE {
            let message = format!("the published state has {size} bytes, the limit is {MAX_STATE}");
            return Err(Error::with_code(&codes::PAYLOAD_TOO_LARGE, message));
        }
        self.state = state;
        for published in changed_state {
            put(&mut self.changed.state, published);
        }
        for published in changes(&mut self.attributes, new.attributes) {
            put(&mut self.changed.attributes, published);
        }
        if new.progress.is_some() && new.progress != self.progress {
            self.progress.clone_from(&new.progress);
            self.changed.progress = new.progress;
        }
        Ok(())
    }
}

/// Puts a value under its name.
pub(crate) fn put(list: &mut Option<Vec<wire::Published>>, published: wire::Published) {
    let list = list.get_or_insert_default();
    list.retain(|p| p.name != published.name);
    list.push(published);
    sort(list, |a, b| a.name < b.name);
}

/// Sets values, and returns the changed ones.
fn changes(
    known: &mut Vec<wire::Published>,
    new: Option<Vec<wire::Published>>,
) -> Vec<wire::Published> {
    let mut changed = new.unwrap_or_default();
    changed.retain(|p| !known.contains(p));
    for published in &changed {
        known.retain(|p| p.name != published.name);
        known.push(published.clone());
    }
    changed
}
