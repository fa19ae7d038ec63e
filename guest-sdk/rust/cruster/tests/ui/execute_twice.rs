use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    async fn execute(&self, request: String) -> Result<String, Error> {
        Ok(request)
    }
}

fn main() {}
