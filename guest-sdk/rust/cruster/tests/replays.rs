//! The words of a replay about a workflow that is not deterministic: both sides in the same words.

use std::cell::Cell;

use cruster::prelude::*;
use cruster::testing::Test;

thread_local! {
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

/// Counts its runs, and does something else in each.
#[workflow]
pub struct Fickle;

#[workflow_impl]
impl Fickle {
    async fn execute(&self, how: String) -> Result<u32> {
        RUNS.set(RUNS.get() + 1);
        let run = RUNS.get();
        match (how.as_str(), run) {
            ("input", n) => drop(self.echo(vec![n, 7]).await?),
            ("kind", 1) => drop(self.echo(vec![1]).await?),
            ("kind", _) => self.sleep(Duration::from_secs(1)).await?,
            ("fewer", 1) => self.sleep(Duration::from_secs(2)).await?,
            _ => {}
        }
        Ok(if how == "result" { run } else { 0 })
    }

    #[activity]
    async fn echo(&self, numbers: Vec<u32>) -> Result<Vec<u32>> {
        Ok(numbers)
    }
}

cruster::module! { workflows: [Fickle] }

#[test]
fn both_sides_are_in_the_same_words() {
    for (how, sides) in [
        (
            "input",
            [
                "issued 2 activity echo {input: [1, 7]}",
                "issued 2 activity echo {input: [2, 7]}",
            ],
        ),
        (
            "kind",
            ["issued 2 activity echo {input: [1]}", "issued 2 sleep 1s"],
        ),
        ("fewer", ["issued 2 sleep 2s", "ended with 0"]),
        ("result", ["ended with 1", "ended with 2"]),
    ] {
        RUNS.set(0);
        let run = Test::new(&MODULE).run::<Fickle>(how.to_owned());
        run.result.unwrap();
        let e = run.history.replay().unwrap_err();
        let [then, now] = sides;
        let want = format!("\n  then: {then}\n  now:  {now}\n");
        assert!(e.message().contains(&want), "{how}: {e}");
        assert!(e.message().contains("HashMap"), "{how}: {e}");
    }
}
