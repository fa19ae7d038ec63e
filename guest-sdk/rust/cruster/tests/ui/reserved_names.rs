use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[activity]
    async fn sleep(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    fn now(&self) -> u32 {
        0
    }

    fn client() {}
}

fn main() {}
