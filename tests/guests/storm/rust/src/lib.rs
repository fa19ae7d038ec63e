//! The guest of tests that have thousands of executions at the same time: the twin of the Go
//! package in the folder above.

use cruster::prelude::*;

cruster::module! {
    workflows: [Gated, Parent, Sleeper],
}

/// Passes the gate, and returns its request.
#[workflow]
pub struct Gated;

#[workflow_impl]
impl Gated {
    async fn execute(&self, n: i64) -> Result<i64> {
        self.pass(n).await
    }

    /// Waits until the gate, a server outside, answers. The host gives a call up after a while; then
    /// it is made again.
    #[activity(retries = 1000, backoff = "constant", base = "1s")]
    async fn pass(&self, n: i64) -> Result<i64> {
        let gate = self.config("gate").unwrap_or_default();
        self.http().get(gate).send()?.error_for_status()?;
        Ok(n)
    }
}

/// Calls a Gated.
#[workflow]
pub struct Parent;

#[workflow_impl]
impl Parent {
    async fn execute(&self, n: i64) -> Result<i64> {
        Gated::client(self).execute(n).await
    }
}

/// The request of Sleeper.
#[derive(Serialize, Deserialize, Schema)]
pub struct Sleep {
    n: i64,
    /// In Unix milliseconds.
    until: i64,
}

/// Sleeps until a time.
#[workflow]
pub struct Sleeper;

#[workflow_impl]
impl Sleeper {
    async fn execute(&self, sleep: Sleep) -> Result<i64> {
        let until = Timestamp::from_unix_millis(sleep.until);
        self.sleep(until.duration_since(self.now())).await?;
        Ok(sleep.n)
    }
}
