//! Runs many steps in parallel and adds up their results.

use cruster::prelude::*;

/// The request of [`FanOut`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct FanOutRequest {
    /// Tells one fan-out from another.
    pub run: String,
    /// How many steps run. Defaults to 100.
    #[serde(default)]
    pub n: i64,
    /// Makes each step write a row, so that effects can be counted.
    #[serde(default)]
    pub record: bool,
}

/// The result of [`FanOut`].
#[derive(Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct FanOutResult {
    pub n: i64,
    pub sum: i64,
}

/// The input of `square`.
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Step {
    pub number: i64,
    pub record: bool,
}

/// Squares the numbers from 1 to n in parallel and returns their sum.
#[workflow]
pub struct FanOut;

#[workflow_impl]
impl FanOut {
    async fn execute(&self, request: FanOutRequest) -> Result<FanOutResult> {
        let n = match request.n {
            0 => 100,
            n @ 1..=5000 => n,
            n => cruster::bail!("invalid_request", "n is {n}, it must be 1 to 5000"),
        };
        let steps = (1..=n).map(|number| {
            self.square(Step {
                number,
                record: request.record,
            })
        });
        let squares = cruster::join_all(steps).await?;
        Ok(FanOutResult {
            n,
            sum: squares.iter().sum(),
        })
    }

    /// Squares a number.
    #[activity(retries = 3, backoff = "exponential", base = "50ms")]
    async fn square(&self, step: Step) -> Result<i64> {
        if step.record {
            self.transaction().execute(
                "INSERT INTO fanout_effects (execution, step) VALUES ($1, $2)",
                (self.execution_id(), step.number),
            )?;
        }
        Ok(step.number * step.number)
    }
}

cruster::module! {
    workflows: [FanOut],
    migrations: [
        Migration::new(1, "effects", "
CREATE TABLE fanout_effects (
	execution TEXT NOT NULL,
	step      BIGINT NOT NULL
)"),
    ],
}
