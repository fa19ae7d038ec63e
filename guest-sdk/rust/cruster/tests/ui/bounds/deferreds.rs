use cruster::prelude::*;

#[derive(Serialize, Deserialize)]
pub struct NoSchema;

pub const APPROVED: Deferred<NoSchema> = Deferred::new("approved");

pub const NO_DEFERRED: u32 = 1;

#[workflow]
pub struct Order;

#[workflow_impl(deferreds(APPROVED))]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

#[workflow]
pub struct Other;

#[workflow_impl(deferreds(NO_DEFERRED))]
impl Other {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

fn main() {}
