use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.reserve(request).await
    }

    #[activity]
    async fn reserve(&self, n: u32) -> Result<u32, Error> {
        self.print(n).await?;
        self.double(n).await?;
        self.execute(n).await
    }

    #[activity]
    async fn print(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    async fn double(&self, n: u32) -> Result<u32, Error> {
        self.execute(2 * n).await
    }
}

fn main() {}
