use cruster::prelude::*;

#[workflow]
pub struct Order;

pub trait Run {}

#[workflow_impl]
impl Run for Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

fn main() {}
