//! What is said in a room.

use cruster::prelude::*;

/// One message in a room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct Message {
    /// Counts the messages of the room, from 1.
    pub number: i64,
    pub room: String,
    pub from: String,
    pub text: String,
}
