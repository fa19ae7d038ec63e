use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[workflow]
    async fn refund(&self, request: u32) -> Result<(), Error> {
        Ok(())
    }
}

pub struct Plain;

impl Plain {
    #[workflow]
    pub async fn refund(&self, _request: u32) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
