use cruster::prelude::*;

#[workflow]
pub struct Counter;

#[workflow_impl]
impl Counter {
    async fn execute(&mut self, request: u32) -> Result<u32, Error> {
        self.add(request).await
    }

    #[activity]
    async fn add(&mut self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    fn helper(&mut self) {}
}

#[activity_group]
pub struct Counters;

#[activity_group_impl]
impl Counters {
    #[activity]
    async fn count(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
