//! A workflow that calls an entity, in versions that differ in the type of the operation's result,
//! `crate::Room`.

use cruster::Empty;
use cruster::prelude::*;

use crate::Room;

#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Hotel {
    booked: i64,
}

#[operations]
impl Hotel {
    fn book(&mut self, _request: Empty) -> Result<Room> {
        self.booked += 1;
        Ok(crate::room(self.booked))
    }

    fn cancel(&mut self, _request: Empty) -> Result<bool> {
        self.booked -= 1;
        Ok(true)
    }

    #[read_only]
    fn booked(&self, _request: Empty) -> i64 {
        self.booked
    }
}

const GATE: Deferred<bool> = Deferred::new("gate");

#[workflow]
pub struct Stay;

#[workflow_impl(deferreds(GATE))]
impl Stay {
    async fn execute(&self, at: String) -> Result<String> {
        self.await_deferred(GATE).await?;
        let hotel = Hotel::client(self, &at);
        match hotel.book(Empty {}).await {
            Ok(room) => Ok(format!("room {room}")),
            Err(e) => {
                // A room that was booked, and cannot be read, is not to be cancelled.
                hotel.cancel(Empty {}).await?;
                Err(e)
            }
        }
    }
}
