use cruster::prelude::*;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = u32)]
pub struct GetProgress;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = String)]
pub struct GetName;

#[workflow]
pub struct Order;

#[workflow_impl(queries(GetName))]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.answer(|_: GetProgress| 7);
        self.answer(|_: GetName| true);
        let progress = 7;
        self.answer(|_: GetName| progress.to_string());
        Ok(request)
    }
}

fn main() {}
