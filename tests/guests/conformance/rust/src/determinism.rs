//! Workflows that look for anything that a replay could change.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

use cruster::prelude::*;

use crate::MILLISECOND;
use crate::interrupts::Notes;

/// Draws from everything that is random in an ordinary program, before and after a step, which
/// takes the draws so far: a replay that draws other values does not fit its journal.
#[workflow]
pub struct Chance;

#[workflow_impl(activity_groups(Notes))]
impl Chance {
    async fn execute(&self, steps: i64) -> Result<Vec<String>> {
        let mut out = Vec::new();
        self.draw(&mut out);
        for _ in 0..steps {
            self.note(out.join(" ")).await?;
            self.draw(&mut out);
        }
        Ok(out)
    }

    fn draw(&self, out: &mut Vec<String>) {
        let order: Vec<String> = (0..40)
            .collect::<HashSet<i32>>()
            .iter()
            .map(ToString::to_string)
            .collect();
        let random = self.random();
        out.extend([
            self.uuid(),
            random.u64().to_string(),
            RandomState::new().hash_one(0).to_string(),
            format!("{:02x?}", random.bytes(8)),
            order.join(" "),
            format!("{} {}", random.range(0..1_000_000), random.f64()),
        ]);
    }
}

/// Compares the clock of the standard library with the journal's, and shows that both stand
/// still while the workflow computes.
#[workflow]
pub struct Clock;

#[workflow_impl]
impl Clock {
    async fn execute(&self, _request: cruster::Empty) -> Result<BTreeMap<String, bool>> {
        let start = self.now();
        let sum: u64 = (0..1_000_000).map(std::hint::black_box).sum();
        let mut out = BTreeMap::new();
        out.insert(
            "is the journal's".to_owned(),
            Timestamp::from(SystemTime::now()) == start,
        );
        out.insert("stands still".to_owned(), self.now() == start && sum > 0);
        self.sleep(5 * MILLISECOND).await?;
        out.insert("goes on".to_owned(), self.now() > start);
        out.insert(
            "is still the journal's".to_owned(),
            Timestamp::from(SystemTime::now()) == self.now(),
        );
        Ok(out)
    }
}

/// Tells its identity, and its view of the machine.
#[workflow]
pub struct Identity;

#[workflow_impl]
impl Identity {
    async fn execute(&self, _request: cruster::Empty) -> Result<BTreeMap<String, String>> {
        let files = std::fs::read("/etc/passwd").is_err();
        let environment: Vec<_> = std::env::vars_os().collect();
        let inside = self.identity(cruster::Empty {}).await?;
        let told = [
            ("execution", self.execution_id().to_owned()),
            ("namespace", self.namespace().to_owned()),
            ("in the activity", inside),
            ("environment", format!("{environment:?}")),
            ("arguments", std::env::args_os().count().to_string()),
            ("files", files.to_string()),
        ];
        Ok(told.map(|(name, text)| (name.to_owned(), text)).into())
    }

    #[activity]
    async fn identity(&self, _request: cruster::Empty) -> Result<String> {
        Ok(format!(
            "{} {} {}",
            self.namespace(),
            self.execution_id(),
            self.attempt()
        ))
    }
}

/// Asks about changes of the code: twice about one, and once about another.
#[workflow]
pub struct Patches;

#[workflow_impl(activity_groups(Notes))]
impl Patches {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<bool>> {
        let first = self.patched("one").await;
        self.note("between".to_owned()).await?;
        Ok(vec![
            first,
            self.patched("one").await,
            self.patched("other").await,
        ])
    }
}

/// Writes to the log from everywhere; each line must be there once.
#[workflow]
pub struct Log;

#[workflow_impl]
impl Log {
    async fn execute(&self, _request: cruster::Empty) -> Result<i64> {
        log::info!("before the first step n={}", 1);
        println!("printed before the first step");
        let n = self.logs(1).await?;
        log::warn!("between two steps");
        self.sleep(MILLISECOND).await?;
        log::error!("after the last step k=v g.x={:?}", "y z");
        Ok(n)
    }

    #[activity]
    async fn logs(&self, n: i64) -> Result<i64> {
        log::info!("in the activity");
        eprintln!("printed in the activity");
        Ok(n)
    }
}
