use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(self._reserve(request).await? + self.größe(request).await?)
    }

    #[activity]
    async fn _reserve(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    #[activity]
    async fn größe(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }
}

fn main() {}
