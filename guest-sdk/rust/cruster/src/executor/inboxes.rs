//! The queues of the signals of a workflow.

use std::cell::RefCell;
use std::collections::VecDeque;

/// The signals of one name.
pub(crate) struct Inbox {
    pub(crate) name: &'static str,
    /// The op that is under way, or whose value was not taken yet; 0 for none.
    pub(crate) op: u32,
    /// The waits of the futures, in the order in which they asked. The op is for the first.
    pub(crate) waits: VecDeque<u64>,
}

/// The inboxes of all names that the workflow has asked for.
#[derive(Default)]
pub(crate) struct Inboxes(RefCell<Vec<Inbox>>);

impl Inboxes {
    /// Changes the inbox of a name, which is there once a future has asked for it.
    pub(crate) fn with<T>(&self, name: &'static str, change: impl FnOnce(&mut Inbox) -> T) -> T {
        let mut inboxes = self.0.borrow_mut();
        let at = inboxes.iter().position(|i| i.name == name);
        let at = at.unwrap_or_else(|| {
            inboxes.push(Inbox {
                name,
                op: 0,
                waits: VecDeque::new(),
            });
            inboxes.len() - 1
        });
        change(&mut inboxes[at])
    }

    /// The results of a function for the inboxes that have one.
    pub(crate) fn filter_map<T>(&self, of: impl FnMut(&Inbox) -> Option<T>) -> Vec<T> {
        self.0.borrow().iter().filter_map(of).collect()
    }
}
