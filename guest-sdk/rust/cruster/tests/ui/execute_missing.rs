use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn run(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

fn main() {}
