//! The inbox of a member.

use cruster::prelude::*;

use crate::message::Message;

/// How many messages an inbox keeps; older ones go.
pub const MAX_UNREAD: usize = 100;

/// The inbox of a member, whose name is its id, over all rooms.
#[stateful_entity]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Inbox {
    pub unread: Vec<Message>,
}

#[operations]
impl Inbox {
    /// Puts a message into the inbox. Rooms send it.
    pub fn deliver(&mut self, message: Message) {
        self.unread.push(message);
        let old = self.unread.len().saturating_sub(MAX_UNREAD);
        self.unread.drain(..old);
    }

    /// Returns the unread messages, and marks them as read.
    pub fn read(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.unread)
    }
}
