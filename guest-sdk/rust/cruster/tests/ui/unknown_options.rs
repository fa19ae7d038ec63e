use cruster::prelude::*;

#[workflow(key = |r: &u32| r.to_string())]
pub struct Order;

#[workflow_impl(groups(Payments), hsah = true, retries = 3, colour = "red")]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.step(request).await
    }

    #[activity(retires = 3, max_attempts = 3, time_out = "1s", wild = 1)]
    async fn step(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }
}

#[activity_group]
pub struct Payments;

#[activity_group_impl(key = |n| n, jiter = 0.1)]
impl Payments {
    #[activity]
    async fn charge(&self, cents: u64) -> Result<u64, Error> {
        Ok(cents)
    }
}

fn main() {}
