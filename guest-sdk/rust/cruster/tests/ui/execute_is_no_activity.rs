use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    #[activity(retries = 3)]
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

#[activity_group]
pub struct Payments;

#[activity_group_impl]
impl Payments {
    #[activity]
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

fn main() {}
