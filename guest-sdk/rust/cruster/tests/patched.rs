//! Changes of the code that runs under way do not take.

use cruster::prelude::*;
use cruster::testing::Test;

const STOP: Deferred<i64> = Deferred::new("stop");

/// Asks three times about one change, from two tasks and from the main one, and once about another.
#[workflow]
pub struct Patching;

#[workflow_impl]
impl Patching {
    async fn execute(&self, _n: i64) -> Result<Vec<bool>> {
        let this = self.clone();
        let task = self.spawn(async move { Ok(this.patched("one").await) });
        let mut answers = vec![task.await?];
        answers.push(self.patched("one").await);
        answers.push(self.patched("other").await);
        Ok(answers)
    }
}

/// A workflow whose step takes cents with the tax now.
#[workflow]
pub struct Taxed;

#[workflow_impl(activity_groups(Charges))]
impl Taxed {
    async fn execute(&self, mut cents: i64) -> Result<i64> {
        if self.patched("tax").await {
            cents += cents / 5;
        }
        self.charge(cents).await
    }
}

#[activity_group]
pub struct Charges;

#[activity_group_impl]
impl Charges {
    #[activity]
    async fn charge(&self, cents: i64) -> Result<i64> {
        Ok(cents)
    }
}

/// Asks about a change after an interrupt.
#[workflow]
pub struct Cleaning;

#[workflow_impl(deferreds(STOP))]
impl Cleaning {
    async fn execute(&self, _n: i64) -> Result<bool> {
        let stopped = self.await_deferred(STOP).await.is_err();
        Ok(self.patched("cleanup").await && stopped)
    }
}

cruster::module! { workflows: [Patching, Taxed, Cleaning] }

/// The same workflow before it was changed.
mod before {
    use super::Charges;
    use cruster::prelude::*;

    #[workflow]
    pub struct Taxed;

    #[workflow_impl(activity_groups(Charges))]
    impl Taxed {
        async fn execute(&self, cents: i64) -> Result<i64> {
            self.charge(cents).await
        }
    }

    cruster::module! { workflows: [Taxed] }
}

#[test]
fn a_new_execution_takes_all_changes() {
    let run = Test::new(&MODULE).run::<Patching>(0);
    assert_eq!(run.result.unwrap(), [true, true, true]);
    assert_eq!(run.history.steps(), ["patched one", "patched other"]);
    run.history.replay().unwrap();
}

#[test]
fn an_execution_that_had_passed_does_not() {
    let run = Test::new(&MODULE).unpatched("one").run::<Patching>(0);
    assert_eq!(run.result.unwrap(), [false, false, true]);
    run.history.replay().unwrap();
}

#[test]
fn histories_of_both_fit_the_new_code() {
    let old = Test::new(&before::MODULE).run::<before::Taxed>(100);
    assert_eq!(old.result.unwrap(), 100);
    old.history.replay_on(&MODULE).unwrap();

    let fresh = Test::new(&MODULE).run::<Taxed>(100);
    assert_eq!(fresh.result.unwrap(), 120);
    fresh.history.replay().unwrap();
    let moved = Test::new(&MODULE).unpatched("tax").run::<Taxed>(100);
    assert_eq!(moved.result.unwrap(), 100);
    moved.history.replay().unwrap();

    fresh.history.replay_on(&before::MODULE).unwrap_err();
}

#[test]
fn an_interrupt_does_not_end_the_wait() {
    let run = Test::new(&MODULE)
        .interrupt_after(Duration::from_secs(1), "stop")
        .run::<Cleaning>(0);
    assert!(run.result.unwrap());
}
