//! The first version of the workflow: see order.rs.

mod order;

cruster::module! {
    workflows: [order::Effects, order::Follow, order::Order, order::Remind],
    migrations: [order::EFFECTS],
}

/// The steps before the gate.
const STEPS: &[&str] = &["reserve", "charge"];
