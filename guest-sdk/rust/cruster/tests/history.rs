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

cruster::module! { workflows: [Renewing] }

#[test]
fn a_workflow_continues_by_the_length_of_its_journal() {
    let run = Test::new(&MODULE).run::<Renewing>(vec![]);
    run.history.replay().unwrap();
    assert_eq!(run.result.unwrap(), [10_000, 10_000, 3]);
}
