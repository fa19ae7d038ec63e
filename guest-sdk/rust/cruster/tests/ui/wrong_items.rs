use cruster::prelude::*;

#[workflow]
pub enum Choice {
    A,
}

#[workflow]
impl Choice {}

#[workflow_impl]
pub struct Order;

#[activity_group]
pub fn payments() {}

#[activity_group_impl]
pub struct Payments;

#[workflow_impl]
pub mod orders {}

fn main() {}
