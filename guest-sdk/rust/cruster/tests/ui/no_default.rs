use cruster::prelude::*;

#[workflow]
pub struct Order {
    limit: u32,
}

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request.min(self.limit))
    }
}

fn main() {}
