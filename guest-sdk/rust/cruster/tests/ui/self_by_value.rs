use cruster::prelude::*;

#[workflow]
pub struct Counter;

#[workflow_impl]
impl Counter {
    async fn execute(self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    async fn shared(self: std::rc::Rc<Self>) {}

    #[activity]
    async fn add(mut self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }
}

fn main() {}
