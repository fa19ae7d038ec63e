use cruster::prelude::*;

#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Paid;

#[derive(Serialize, Deserialize, Schema)]
pub struct NoSignal;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.receive::<Paid>().await?;
        Ok(request)
    }
}

#[workflow]
pub struct Other;

#[workflow_impl(signals(NoSignal))]
impl Other {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

fn main() {}
