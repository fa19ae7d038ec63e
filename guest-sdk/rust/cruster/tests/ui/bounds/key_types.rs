use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl(key = |request: &u32| *request, hash = false)]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.step(request).await?;
        self.named(request, 1).await
    }

    #[activity(key = |a| *a)]
    async fn step(&self, a: u32) -> Result<u32, Error> {
        Ok(a)
    }

    #[activity(key = Self::key_of)]
    async fn named(&self, a: u32, b: u32) -> Result<u32, Error> {
        Ok(a + b)
    }

    fn key_of(a: &u32, b: &u32) -> u64 {
        u64::from(a + b)
    }
}

#[workflow]
pub struct Statement;

#[workflow_impl(
    key = |request| {
        let tens = request / 10;
        tens
    },
    hash = false
)]
impl Statement {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

fn main() {}
