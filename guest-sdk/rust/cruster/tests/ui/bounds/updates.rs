use cruster::prelude::*;

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = u32)]
pub struct Add(u32);

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = String)]
pub struct Name;

#[derive(Serialize, Deserialize, Schema)]
pub struct Plain;

#[workflow]
pub struct Order;

#[workflow_impl(updates(Name))]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.on_update(|add: Add| async move { add.0 });
        self.on_update(|_: Name| async { 7 });
        self.check_update(|_: &Name| Ok(()));
        Ok(request)
    }
}

#[workflow]
pub struct Other;

#[workflow_impl(updates(Plain))]
impl Other {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

fn main() {}
