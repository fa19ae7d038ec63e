//! The room.

use cruster::prelude::*;

use crate::inbox::Inbox;
use crate::message::Message;

/// How many messages a room remembers: a state is saved whole.
pub const MAX_HISTORY: usize = 100;

/// A room, whose name is its id.
#[stateful_entity(concurrency = 8)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Room {
    pub members: Vec<String>,
    pub posted: i64,
    pub history: Vec<Message>,
}

/// The request of `post`.
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Line {
    pub from: String,
    pub text: String,
}

#[operations]
impl Room {
    /// Adds a member, and returns how many there are.
    pub fn join(&mut self, name: String) -> Result<i64> {
        if name.is_empty() {
            cruster::bail!("invalid_member", "a member has a name");
        }
        if !self.members.contains(&name) {
            self.members.push(name);
        }
        Ok(self.members.len() as i64)
    }

    /// Takes a member out, and returns how many there are.
    pub fn leave(&mut self, name: String) -> i64 {
        self.members.retain(|member| *member != name);
        self.members.len() as i64
    }

    /// Says something in the room, and returns the number of the message. The inboxes of
    /// the members get it in the order in which it was said.
    pub fn post(&mut self, cx: &EntityContext, line: Line) -> Result<i64> {
        if !self.members.contains(&line.from) {
            cruster::bail!("not_a_member", "{} is not in the room", line.from);
        }
        self.posted += 1;
        let message = Message {
            number: self.posted,
            room: cx.id().to_owned(),
            from: line.from,
            text: line.text,
        };
        self.history.push(message.clone());
        let old = self.history.len().saturating_sub(MAX_HISTORY);
        self.history.drain(..old);
        for name in &self.members {
            Inbox::client(cx, name.clone())
                .deliver(message.clone())
                .send()?;
        }
        Ok(message.number)
    }

    /// The latest messages. It writes nothing.
    #[read_only]
    pub fn history(&self) -> Vec<Message> {
        self.history.clone()
    }
}
