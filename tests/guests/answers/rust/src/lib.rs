//! The version whose rooms have numbers: see hotel.rs.

mod hotel;

cruster::module! {
    workflows: [hotel::Stay],
    entities: [hotel::Hotel],
}

type Room = i64;

fn room(number: i64) -> Room {
    number
}
