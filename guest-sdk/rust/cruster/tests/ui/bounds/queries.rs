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
        Ok(request)
    }
}

#[derive(Serialize, Deserialize, Schema)]
pub struct Plain;

#[workflow]
pub struct Other;

#[workflow_impl(queries(Plain))]
impl Other {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        let progress = request;
        self.answer(|_: GetProgress| progress);
        Ok(request)
    }
}

fn main() {}
