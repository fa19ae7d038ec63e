//! Critical sections: their beginning, their refusals, and their end.

use cruster::prelude::*;
use cruster::remote_entity;
use cruster::testing::Test;

#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Account {
    cents: i64,
}

#[operations]
impl Account {
    fn deposit(&mut self, cents: i64) -> i64 {
        self.cents += cents;
        self.cents
    }

    #[read_only]
    fn balance(&self) -> i64 {
        self.cents
    }
}

/// Takes part in the work of the other one.
#[workflow]
pub struct Rival;

#[workflow_impl]
impl Rival {
    async fn execute(&self, id: String) -> Result<i64, Error> {
        let _section = self.lock([Account::id("bob"), Account::id(&*id)]).await?;
        Account::client(self, id).deposit(1000).await
    }
}

#[workflow]
pub struct Transfer;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[workflow_impl(key = |case: &String| case.clone(), hash = false)]
impl Transfer {
    async fn execute(&self, case: String) -> Result<Vec<i64>, Error> {
        match case.as_str() {
            "dropped" => self.dropped().await,
            "given up" => self.given_up().await,
            "given up beside another" => self.given_up_beside().await,
            "outside" => self.outside().await,
            _ => self.apart().await,
        }
    }

    /// The rival waits until the section is dropped.
    async fn dropped(&self) -> Result<Vec<i64>, Error> {
        let section = self.lock((Account::id("ada"), Account::id("bob"))).await?;
        Rival::client(self).start("ada".to_owned()).await?;
        self.sleep(seconds(10)).await?;
        let before = Account::client(self, "ada").balance().await?;
        drop(section);
        self.sleep(seconds(1)).await?;
        Ok(vec![before, Account::client(self, "ada").balance().await?])
    }

    /// A lock that lost a race keeps nothing.
    async fn given_up(&self) -> Result<Vec<i64>, Error> {
        Rival::client(self).start("ada".to_owned()).await?;
        let patience = self.timeout(Duration::ZERO, self.lock(Account::id("ada")));
        assert!(patience.await.is_err_and(|e| e.is_timeout()));
        let sum = Rival::client(self).execute("ada".to_owned()).await?;
        assert_eq!(sum, 1000);
        // It is in no section: any entity can be called.
        Ok(vec![Account::client(self, "cid").deposit(7).await?])
    }

    /// Nor does it end the section that there is.
    async fn given_up_beside(&self) -> Result<Vec<i64>, Error> {
        let _section = self.lock(Account::id("ada")).await?;
        cruster::select! {
            slept = self.sleep(Duration::ZERO) => slept?,
            second = self.lock(Account::id("bob")) => drop(second?),
        }
        let refused = Account::client(self, "bob").deposit(1).await;
        assert_eq!(refused.unwrap_err().code(), "CR-6011");
        Ok(vec![Account::client(self, "ada").deposit(1).await?])
    }

    /// One of another deployment is not in this test.
    async fn outside(&self) -> Result<Vec<i64>, Error> {
        let other = remote_entity(self, "bank/Account/ada").id();
        let refused = self.lock(vec![Account::id("with/slash"), other]).await;
        assert!(!refused.err().unwrap().code().is_empty());
        Ok(vec![Account::client(self, "with/slash").deposit(2).await?])
    }

    /// Two sections, one after the other.
    async fn apart(&self) -> Result<Vec<i64>, Error> {
        let mut all = Vec::new();
        for id in ["ada", "bob"] {
            let section = self.lock(Account::id(id)).await?;
            all.push(Account::client(self, id).deposit(5).await?);
            section.release().await?;
        }
        Ok(all)
    }
}

cruster::module! { workflows: [Transfer, Rival], entities: [Account] }

fn run(case: &str) -> (Vec<i64>, Vec<String>) {
    let run = Test::new(&MODULE).run::<Transfer>(case.to_owned());
    run.history.replay().unwrap();
    (run.result.unwrap(), run.history.steps())
}

#[test]
fn a_section_that_is_dropped_is_over_without_a_step() {
    let (balances, steps) = run("dropped");
    assert_eq!(balances, [0, 1000]);
    assert_eq!(
        steps,
        [
            "lock Account/ada Account/bob",
            "send Rival",
            "sleep 10s",
            "entity_call Account/ada balance",
            "sleep 1s",
            "entity_call Account/ada balance",
        ]
    );
}

#[test]
fn a_lock_that_is_given_up_leaves_no_section() {
    assert_eq!(run("given up").0, [7]);
}

#[test]
fn a_lock_that_is_given_up_ends_no_other_section() {
    assert_eq!(run("given up beside another").0, [1]);
}

#[test]
fn entities_of_other_deployments_are_named() {
    assert_eq!(run("outside").0, [2]);
}

#[test]
fn sections_follow_each_other() {
    let (sums, steps) = run("apart");
    assert_eq!(sums, [5, 5]);
    assert_eq!(steps.iter().filter(|s| *s == "unlock").count(), 2);
}

#[test]
fn clients_are_told_who_holds_an_entity() {
    let test = Test::new(&MODULE);
    let api = test.api();
    let run = test
        .look_after(seconds(5), move |_| {
            let refused = Account::client(&api, "ada").deposit(1).call();
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("locked by test/Transfer/dropped"), "{text}");
        })
        .run::<Transfer>("dropped".to_owned());
    run.result.unwrap();
}
