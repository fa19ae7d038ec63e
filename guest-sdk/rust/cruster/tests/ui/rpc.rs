use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[rpc]
    async fn approve(&self, by: String) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
