//! Several modules in one test: they call each other by the names of their deployments.

use cruster::prelude::*;
use cruster::testing::Test;

mod payments {
    use cruster::prelude::*;

    #[workflow]
    pub struct Charge;

    #[workflow_impl(key = |id: &String| id.clone(), hash = false)]
    impl Charge {
        async fn execute(&self, id: String) -> Result<String> {
            let receipt = self.book(id).await?;
            let fee: String = Fee::client(self).execute(receipt).await?;
            Ok(fee)
        }

        #[activity]
        async fn book(&self, id: String) -> Result<String> {
            Ok(format!("{} booked {id}", self.execution_id()))
        }
    }

    /// A workflow of the same name is in the other module.
    #[workflow]
    pub struct Fee;

    #[workflow_impl]
    impl Fee {
        async fn execute(&self, receipt: String) -> Result<String> {
            let account = cruster::remote_entity(self, "shop/Tally/fees");
            let n: i64 = account.call("add", 1).await?;
            Ok(format!("{receipt}, fee {n}"))
        }
    }

    cruster::module! { workflows: [Charge, Fee] }
}

#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Tally {
    n: i64,
}

#[operations]
impl Tally {
    fn add(&mut self, n: i64) -> i64 {
        self.n += n;
        self.n
    }
}

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, id: String) -> Result<String> {
        cruster::remote(self, "payments/Charge").execute(id).await
    }
}

#[workflow]
pub struct Fee;

#[workflow_impl]
impl Fee {
    async fn execute(&self, name: String) -> Result<String> {
        let called: Result<()> = cruster::remote(self, &name).execute(()).await;
        Ok(called.map_or_else(|e| format!("{e} {}", e.hint()), |()| String::new()))
    }
}

cruster::module! { workflows: [Order, Fee], entities: [Tally] }

fn test() -> Test {
    Test::new(&MODULE)
        .deployment("shop")
        .module("payments", &payments::MODULE)
}

#[test]
fn they_call_each_other() {
    let run = test().run::<Order>("42".to_owned());
    assert_eq!(
        run.result.unwrap(),
        "payments/Charge/42 booked 42, fee 1",
        "the fee is that of the payments, and counted by the shop"
    );
    assert_eq!(run.entities.state::<Tally>("fees").unwrap().n, 1);
    run.history.replay().unwrap();
}

#[test]
fn stubs_of_the_others() {
    let run = test()
        .stub("payments/book", |_, id: String| Ok(format!("stub {id}")))
        .run::<Order>("42".to_owned());
    assert_eq!(run.result.unwrap(), "stub 42, fee 1");
    let run = test()
        .stub_workflow("payments/Charge", |id: String| Ok(format!("all {id}")))
        .run::<Order>("42".to_owned());
    assert_eq!(run.result.unwrap(), "all 42");
}

#[test]
fn what_is_not_there_is_refused_as_by_a_host() {
    let refusal = |name: &str| test().run::<Fee>(name.to_owned()).result.unwrap();
    let e = refusal("books/Report");
    assert!(e.contains("there is no deployment \"books\""), "{e}");
    let e = refusal("payments/Refund");
    assert!(
        e.contains("deployment \"payments\" has no workflow \"Refund\""),
        "{e}"
    );
    assert!(e.contains("It has payments/Charge, payments/Fee."), "{e}");
}

#[test]
#[should_panic(expected = "the test has two modules of the name \"payments\"")]
fn a_name_is_used_once() {
    let _ = test().module("payments", &MODULE);
}

#[test]
#[should_panic(expected = "the test has no module \"books\"; add it with Test::module")]
fn the_stub_of_no_module() {
    let _ = test().stub("books/print", |_, ()| Ok(()));
}
