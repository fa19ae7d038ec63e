use cruster::prelude::*;

#[rpc_group]
pub struct One;

#[rpc_group_impl]
impl One {
    #[rpc]
    async fn ping(&self) -> Result<u32, Error> {
        Ok(1)
    }
}

#[rpc_group]
pub struct Two;

#[rpc_group_impl]
impl Two {
    #[rpc]
    async fn ping(&self) -> Result<u32, Error> {
        Ok(2)
    }
}

#[entity]
pub struct Both;

#[entity_impl(rpc_groups(One, Two))]
impl Both {
    #[rpc]
    async fn own(&self) -> Result<u32, Error> {
        Ok(3)
    }
}

#[entity]
pub struct Hides;

#[entity_impl(rpc_groups(One))]
impl Hides {
    #[rpc]
    async fn ping(&self) -> Result<u32, Error> {
        Ok(3)
    }
}

pub struct Plain;

#[entity]
pub struct NoGroup;

#[entity_impl(rpc_groups(Plain))]
impl NoGroup {
    #[rpc]
    async fn own(&self) -> Result<u32, Error> {
        Ok(3)
    }
}

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, _: ()) -> Result<u32, Error> {
        self.pay().await
    }

    #[activity]
    async fn pay(&self) -> Result<u32, Error> {
        let this = self;
        Both::client(this, "a").own().await
    }
}

fn main() {}
