use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl(name = "process order", hash = "no", activity_groups = Payments, key = "order_id")]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[activity(retries = "3", backoff = "exponentail", base = 100, jitter = 1.5, timeout = "30 seconds", name = 7)]
    async fn one(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    #[activity(retries = -1, backoff = "fixed", base = "0s", jitter = "a lot", timeout = "1000000d", name = "2nd")]
    async fn two(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    #[activity(retries = 1.5, backoff = wild, base, timeout = 30, retries = 2, key = 7)]
    async fn three(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    #[activity(retries =)]
    async fn four(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    #[activity = "retries"]
    async fn five(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }

    #[activity]
    #[activity(retries = 1)]
    async fn six(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }
}

fn main() {}
