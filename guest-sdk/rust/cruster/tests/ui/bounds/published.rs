use cruster::prelude::*;

#[derive(Serialize, Deserialize, Schema, State)]
pub struct Stage(String);

#[derive(Attribute)]
pub struct Tags(Vec<String>);

#[derive(Serialize, Deserialize, Schema)]
pub struct Plain;

#[entity]
pub struct Gateway;

#[entity_impl]
impl Gateway {
    #[rpc]
    async fn ping(&self) -> Result<u32, Error> {
        Ok(1)
    }
}

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.publish(Stage("packing".into()))?;
        self.publish(Plain)?;
        self.lock(Gateway::client(self, "eu")).await?;
        self.lock("ada").await?;
        self.continue_as_new("again")
    }
}

fn main() {}
