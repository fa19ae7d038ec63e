//! A chat room: a [room](Room) is an entity, and so is the [inbox](Inbox) of each member. A post
//! to a room is sent on to the inboxes in the same commit.

mod inbox;
mod room;

pub use inbox::{Inbox, MAX_UNREAD};
pub use room::{Line, MAX_HISTORY, Message, Room};

cruster::module! {
    entities: [Inbox, Room],
}
