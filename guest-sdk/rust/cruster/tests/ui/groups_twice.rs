use cruster::prelude::*;

#[activity_group]
pub struct Payments;

#[activity_group_impl]
impl Payments {
    #[activity]
    async fn charge(&self, cents: u64) -> Result<u64, Error> {
        Ok(cents)
    }
}

#[workflow]
pub struct Order;

#[workflow_impl(activity_groups(Payments, Payments))]
impl Order {
    async fn execute(&self, request: u64) -> Result<u64, Error> {
        self.charge(request).await
    }
}

fn main() {}
