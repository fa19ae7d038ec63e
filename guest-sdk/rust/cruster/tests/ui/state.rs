use cruster::prelude::*;

#[workflow]
#[state(OrderState)]
pub struct Order {
    #[state]
    count: u32,
}

#[workflow(state = OrderState)]
pub struct Another;

#[workflow_impl]
#[state(OrderState)]
impl Another {
    #[state]
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

fn main() {}
