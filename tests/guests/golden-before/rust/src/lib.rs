//! An earlier version of the workflow of the guest golden: it has the first steps of that one, but
//! does not wait to be opened in between. Golden journals of runs that were moved begin with it. It
//! is the twin of the Go package in the folder above.

use cruster::Value;
use cruster::prelude::*;

cruster::module! {
    workflows: [Everything],
}

const ANSWER: Deferred<String> = Deferred::new("answer");

/// The request of golden.
#[derive(Serialize, Deserialize, Schema)]
pub struct Request {
    calls: Vec<Value>,
    pages: i64,
}

/// The workflow. It is moved to golden while it waits for the answer.
#[workflow]
pub struct Everything;

#[workflow_impl(key = |_: &Request| "everything", hash = false, deferreds(ANSWER))]
impl Everything {
    async fn execute(&self, _request: Request) -> Result<Vec<String>> {
        self.sleep(Duration::from_millis(1)).await?;
        self.note("first".to_owned()).await?;
        self.await_deferred(ANSWER).await?;
        Ok(Vec::new())
    }

    #[activity]
    async fn note(&self, text: String) -> Result<String> {
        let key = self.idempotency_key();
        Ok(format!("{text} of the earlier version {key}"))
    }
}
