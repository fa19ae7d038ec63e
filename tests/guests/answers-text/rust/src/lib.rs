//! The version whose rooms have names: see hotel.rs.

#[path = "../../../answers/rust/src/hotel.rs"]
mod hotel;

cruster::module! {
    workflows: [hotel::Stay],
    entities: [hotel::Hotel],
}

type Room = String;

fn room(number: i64) -> Room {
    format!("no. {number}")
}
