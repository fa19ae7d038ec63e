use cruster::prelude::*;

#[activity_group]
pub struct Payments;

#[activity_group_impl]
impl Payments {
    async fn charge(&self, cents: u64) -> Result<u64, Error> {
        Ok(cents)
    }
}

fn main() {}
