use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[activity]
    async fn reserve(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    #[activity(name = "reserve")]
    async fn reserve_again(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }
}

fn main() {}
