//! A chat room: a [room](Room) is an entity, and so is the [inbox](Inbox) of each member. A post
//! to a room is sent on to the inboxes in the same commit.

mod inbox;
mod message;
mod room;

pub use inbox::{Inbox, MAX_UNREAD};
pub use message::Message;
pub use room::{Line, MAX_HISTORY, Room};

cruster::module! {
    entities: [Inbox, Room],
}
