use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> u32 {
        request
    }

    #[activity]
    async fn step(&self, n: u32) {}

    #[activity]
    async fn other(&self, n: u32) -> Option<u32> {
        Some(n)
    }
}

fn main() {}
