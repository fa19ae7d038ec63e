use cruster::prelude::*;

#[activity_group]
pub struct Payments;

#[activity_group_impl]
impl Payments {
    #[activity]
    async fn charge(&self, amount: u32) -> Result<u32, Error> {
        Ok(amount)
    }

    #[activity]
    async fn refund(&self, amount: u32) -> Result<u32, Error> {
        Ok(amount)
    }
}

#[activity_group]
pub struct Batteries;

#[activity_group_impl]
impl Batteries {
    #[activity]
    async fn charge(&self, amount: u32) -> Result<u32, Error> {
        Ok(amount + 1)
    }
}

#[workflow]
pub struct Order;

#[workflow_impl(activity_groups(Payments, Batteries))]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.charge(request).await
    }
}

#[workflow]
pub struct Own;

#[workflow_impl(activity_groups(Payments))]
impl Own {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.charge(request).await?;
        self.refund(request)
    }

    #[activity]
    async fn charge(&self, amount: u32) -> Result<u32, Error> {
        Ok(amount)
    }

    fn refund(&self, amount: u32) -> Result<u32, Error> {
        Ok(amount)
    }
}

fn main() {}
