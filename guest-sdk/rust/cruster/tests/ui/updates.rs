use cruster::prelude::*;

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = u32)]
pub struct Add(u32);

#[workflow(updates(Add))]
pub struct Order;

// Compilers differ in how they pad line numbers.
#[workflow_impl(updates(Add, Add), publishes(Stage))]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.charge(request).await
    }

    #[activity]
    async fn charge(&self, n: u32) -> Result<u32, Error> {
        self.on_update(|add: Add| async move { add.0 });
        self.publish(Stage(n))?;
        self.lock(Account::id("ada")).await?;
        Ok(n)
    }

    async fn lock(&self) {}
}

#[derive(Serialize, Deserialize, Schema, Update)]
pub struct NoAnswer;

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = u32, validated = true)]
pub struct Checked;

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = u32, validator)]
pub struct Misspelt;

#[derive(Serialize, Deserialize, Schema, State)]
#[state(stage)]
pub struct Stage(u32);

#[derive(Attribute)]
pub struct Customer {
    name: String,
}

#[derive(Attribute)]
pub enum Kind {
    Small,
}

fn main() {}
