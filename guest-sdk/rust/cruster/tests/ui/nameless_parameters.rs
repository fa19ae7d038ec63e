use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, (a, b): (u32, u32)) -> Result<u32, Error> {
        Ok(a + b)
    }

    #[activity]
    async fn step(&self, (a, b): (u32, u32), _: String) -> Result<u32, Error> {
        Ok(a + b)
    }
}

fn main() {}
