use cruster::prelude::*;

#[workflow]
pub struct Counter;

#[workflow_impl]
impl Counter {
    async fn execute(request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[activity]
    async fn add(n: u32) -> Result<u32, Error> {
        Ok(n)
    }
}

fn main() {}
