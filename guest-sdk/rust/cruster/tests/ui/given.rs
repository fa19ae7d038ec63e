//! Groups that are listed without a value.



//


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
pub struct Shop;

#[workflow_impl(activity_groups(Payments))]
impl Shop {
    async fn execute(&self, cents: u64) -> Result<u64, Error> {
        self.charge(cents).await
    }
}

cruster::module! { workflows: [Shop], groups: [Payments] }

fn main() {}
