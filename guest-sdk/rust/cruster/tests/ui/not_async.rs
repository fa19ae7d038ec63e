use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[activity]
    fn step(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }
}

fn main() {}
