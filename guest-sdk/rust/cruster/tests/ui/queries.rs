use cruster::prelude::*;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = u32)]
pub struct GetProgress;

// Compilers differ in how they pad line numbers:
// this begins below line 9.

#[workflow(queries(GetProgress))]
pub struct Order;

#[workflow_impl(queries(GetProgress, GetProgress))]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.charge(request).await
    }

    #[activity]
    async fn charge(&self, n: u32) -> Result<u32, Error> {
        self.answer(move |_: GetProgress| n);
        Ok(n)
    }

    #[query]
    fn progress(&self) -> u32 {
        1
    }
}

#[workflow]
pub struct Other;

#[workflow_impl(answers(GetProgress))]
impl Other {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[activity]
    async fn answer(&self) -> Result<u32, Error> {
        Ok(1)
    }
}

#[derive(Serialize, Deserialize, Schema, Query)]
pub struct WithoutAnAnswer;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(returns = u32)]
pub struct Returns;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer)]
pub struct WithoutAType;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = u32, name = "größe")]
pub struct Size;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query = "progress"]
pub struct Fourth;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = u32)]
pub struct Fifth<T>(T);

fn main() {}
