//! A version of the workflow with a step less: see order.rs.

#[path = "../../../change/rust/src/order.rs"]
mod order;

cruster::module! {
    workflows: [order::Effects, order::Follow, order::Order, order::Remind],
    migrations: [order::EFFECTS],
}

/// The steps before the gate.
const STEPS: &[&str] = &["reserve"];
