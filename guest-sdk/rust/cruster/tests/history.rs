//! A workflow is told how long its journal is, and goes on as a new run by that.

use cruster::prelude::*;
use cruster::testing::Test;

#[workflow]
struct Renewing;

#[workflow_impl]
impl Renewing {
    async fn execute(&self, mut earlier: Vec<u64>) -> Result<Vec<u64>> {
        assert_eq!(self.history_len(), 0, "a run begins with an empty journal");
        while !self.should_continue_as_new() {
            if earlier.len() == 2 && self.history_len() == 3 {
                earlier.push(3);
                return Ok(earlier);
            }
            self.sleep(Duration::from_secs(1)).await?;
        }
        earlier.push(self.history_len());
        self.continue_as_new(earlier)
    }
}

/// Goes on as a new run when its journal has six entries, and tells how many steps each run took.
#[workflow]
struct Stumbling;

#[workflow_impl]
impl Stumbling {
    async fn execute(&self, mut earlier: Vec<u64>) -> Result<Vec<u64>> {
        let mut steps = 0;
        while self.history_len() < 6 {
            self.stumble(steps).await?;
            steps += 1;
        }
        earlier.extend([steps, self.history_len()]);
        if earlier.len() == 4 {
            return Ok(earlier);
        }
        self.continue_as_new(earlier)
    }

    /// Fails at its first attempt.
    #[activity(retries = 1)]
    async fn stumble(&self, step: u64) -> Result<u64> {
        if self.attempt() == 1 {
            return Err(Error::new("stumbled", "at the first attempt"));
        }
        Ok(step)
    }
}

cruster::module! { workflows: [Renewing, Stumbling] }

#[test]
fn a_workflow_continues_by_the_length_of_its_journal() {
    let run = Test::new(&MODULE).run::<Renewing>(vec![]);
    run.history.replay().unwrap();
    assert_eq!(run.result.unwrap(), [10_000, 10_000, 3]);
}

/// A host has an entry for each attempt that failed.
#[test]
fn failed_attempts_are_in_the_length_of_the_journal() {
    let run = Test::new(&MODULE).run::<Stumbling>(vec![]);
    run.history.replay().unwrap();
    assert_eq!(run.result.unwrap(), [3, 6, 3, 6]);
}
