//! Entities with a state: called by tests, by workflows and by each other.

use cruster::prelude::*;
use cruster::testing::Test;
use cruster::wire::EntityInfo;
use cruster::{Entity, Value};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[stateful_entity(
    name = "BankAccount",
    mailbox_capacity = 50,
    concurrency = 4,
    max_idle_time_secs = 120,
    shard_group = "bank"
)]
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Account {
    cents: i64,
    opened: Option<Timestamp>,
}

#[operations]
impl Account {
    const LIMIT: i64 = 1_000_000;

    fn on_create(&mut self, cx: &EntityContext) {
        self.opened = Some(cx.now());
    }

    /// Puts money in, or takes it out.
    fn deposit(&mut self, cents: i64) -> Result<i64, Error> {
        self.cents += cents;
        match self.cents {
            0..=Self::LIMIT => Ok(self.cents),
            n if n < 0 => Err(Error::new("too_poor", Self::words(n))),
            _ => panic!("too rich"),
        }
    }

    /// Moves money to another account, and has the move noted.
    pub(crate) fn give(&mut self, cx: &EntityContext, to: String, cents: i64) -> Result<i64> {
        Account::client(cx, to.as_str()).deposit(cents).send()?;
        cx.workflow::<Note>()
            .with_key_raw(cx.id())
            .start(format!("{} gave {to} {cents}", cx.id()))?;
        self.deposit(-cents)
    }

    fn close(&mut self, cx: &EntityContext) -> Result<i64, Error> {
        cx.destroy()?;
        Ok(self.cents)
    }

    fn rate(&mut self, cx: &EntityContext) -> Option<String> {
        cx.config("rate")
    }

    #[read_only]
    fn balance(&self) -> i64 {
        self.cents
    }

    fn words(cents: i64) -> String {
        format!("{cents} cents are not enough")
    }
}

/// Ten times as much, and so on.
#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Echo;

#[operations]
impl Echo {
    fn shout(&mut self, cx: &EntityContext) -> Result<(), Error> {
        Echo::client(cx, cx.id()).shout().send()
    }
}

#[workflow]
pub struct Note;

#[workflow_impl]
impl Note {
    async fn execute(&self, text: String) -> Result<String, Error> {
        self.sleep(seconds(60)).await?;
        Account::client(self, "notes").deposit(1).await?;
        Ok(text)
    }
}

#[workflow]
pub struct Transfer;

#[workflow_impl(key = |case: &String| case.clone(), hash = false)]
impl Transfer {
    async fn execute(&self, case: String) -> Result<Vec<i64>, Error> {
        let ada = Account::client(self, "ada");
        match case.as_str() {
            "transfer" => {
                ada.deposit(-200).await?;
                Account::client(self, "bob").deposit(200).send().await?;
                let (one, two) = cruster::join!(ada.balance(), ada.deposit(1)).await?;
                Ok(vec![one, two])
            }
            "poor" => Ok(vec![ada.deposit(-900).await?]),
            "caught" => {
                let e = ada.deposit(-900).await.unwrap_err();
                assert_eq!((e.code(), e.error_type()), ("CR-6006", "too_poor"));
                Ok(vec![ada.balance().await?])
            }
            "crash" => Ok(vec![ada.deposit(9_000_000).await?]),
            "remote" => {
                let bank = cruster::remote_entity(self, "test/BankAccount/bob");
                Ok(vec![bank.call("deposit", 5).await?])
            }
            "unknown" => Ok(vec![
                cruster::remote_entity(self, "Nothing/1")
                    .call("x", 5)
                    .await?,
            ]),
            "timeout" => {
                let result = self.timeout(seconds(1), ada.deposit(5)).await?;
                Ok(vec![result])
            }
            _ => {
                ada.give("bob".to_owned(), 100).await?;
                self.sleep(seconds(90)).await?;
                Ok(vec![Account::client(self, "notes").balance().await?])
            }
        }
    }
}

cruster::module! { workflows: [Transfer, Note], entities: [Account, Echo] }

fn test() -> Test {
    let opened = None;
    Test::new(&MODULE).entity("ada", &Account { cents: 500, opened })
}

#[test]
fn the_manifest_describes_them() {
    let listed = MODULE.manifest().entities.unwrap();
    let entities: Vec<EntityInfo> = listed.iter().map(|e| e.body().unwrap()).collect();
    let account = &entities[0];
    assert_eq!(account.name, "BankAccount");
    assert_eq!(Account::NAME, "BankAccount");
    assert_eq!((account.mailbox, account.concurrency), (50, 4));
    assert_eq!(account.idle_time, 120_000_000_000);
    assert_eq!(account.shard_group, "bank");
    assert_eq!(account.state.as_ref().unwrap().kind, "struct");
    let operations = account.operations.as_ref().unwrap();
    let names: Vec<&str> = operations.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["balance", "close", "deposit", "give", "rate"]);
    let read_only: Vec<bool> = operations.iter().map(|o| o.read_only).collect();
    assert_eq!(read_only, [true, false, false, false, false]);
    assert_eq!(operations[2].input.as_ref().unwrap().kind, "int");
    assert_eq!(operations[3].input.as_ref().unwrap().kind, "struct");
    assert!(operations[4].output.as_ref().unwrap().nullable);
    assert_eq!(entities[1].state_version, 0);
}

#[test]
fn a_test_calls_them_directly() {
    let bank = test().config("rate", "3%").entities();
    let ada = Account::client(&bank, "ada");
    assert_eq!(ada.deposit(100).call().unwrap(), 600);
    assert_eq!(ada.balance().call().unwrap(), 600);
    assert_eq!(ada.rate().call().unwrap().unwrap(), "3%");

    let e = ada.deposit(-700).call().unwrap_err();
    assert_eq!(e.message(), "-100 cents are not enough");
    assert_eq!(ada.balance().call().unwrap(), 600, "it has changed nothing");

    let bob = Account::client(&bank, "bob");
    assert_eq!(bob.balance().call().unwrap(), 0);
    assert!(
        bank.state::<Account>("bob").is_none(),
        "reading creates none"
    );
    bob.deposit(1).call().unwrap();
    assert!(bank.state::<Account>("bob").unwrap().opened.is_some());
    assert_eq!(bank.ids::<Account>(), ["ada", "bob"]);

    let path = Account::client(&bank, "a/b/c");
    assert_eq!(path.deposit(7).call().unwrap(), 7);
    assert_eq!(bank.state::<Account>("a/b/c").unwrap().cents, 7);
    assert_eq!(path.close().call().unwrap(), 7);

    assert_eq!(bob.close().call().unwrap(), 1);
    assert_eq!(bank.ids::<Account>(), ["ada"]);
}

#[test]
fn they_send_to_each_other_and_start_workflows() {
    let bank = test().entities();
    let ada = Account::client(&bank, "ada");
    assert_eq!(ada.give("bob".to_owned(), 100).call().unwrap(), 400);
    assert!(
        bank.state::<Account>("bob").is_none(),
        "the caller did not wait for it"
    );
    bank.settle();
    assert_eq!(bank.state::<Account>("bob").unwrap().cents, 100);
    assert_eq!(bank.state::<Account>("notes").unwrap().cents, 1);

    ada.give("eve".to_owned(), 1_000).call().unwrap_err();
    bank.settle();
    assert!(
        bank.state::<Account>("eve").is_none(),
        "what failed sends nothing"
    );

    let run = test().run::<Transfer>("give".to_owned());
    assert_eq!(run.result.unwrap(), [1]);
    assert_eq!(run.entities.state::<Account>("bob").unwrap().cents, 100);
}

#[test]
fn workflows_call_them() {
    let run = test().run::<Transfer>("transfer".to_owned());
    assert_eq!(run.result.unwrap(), [300, 301]);
    assert_eq!(run.entities.state::<Account>("ada").unwrap().cents, 301);
    assert_eq!(run.entities.state::<Account>("bob").unwrap().cents, 200);
    assert_eq!(
        run.history.steps(),
        [
            "entity_call BankAccount/ada deposit",
            "entity_send BankAccount/bob deposit",
            "entity_call BankAccount/ada balance",
            "entity_call BankAccount/ada deposit",
        ]
    );
    run.history.replay().unwrap();

    let run = test().run::<Transfer>("remote".to_owned());
    assert_eq!(run.result.unwrap(), [5]);
    let run = test().run::<Transfer>("timeout".to_owned());
    assert_eq!(run.result.unwrap(), [505]);
    let run = test().run::<Transfer>("caught".to_owned());
    assert_eq!(run.result.unwrap(), [500]);
}

#[test]
fn what_goes_wrong_is_told() {
    let error = |case: &str| {
        let run = test().run::<Transfer>(case.to_owned());
        assert_eq!(run.entities.state::<Account>("ada").unwrap().cents, 500);
        run.result.unwrap_err().message()
    };
    assert_eq!(error("poor"), "-400 cents are not enough");
    assert!(
        error("crash").contains("CR-6007: operation \"deposit\": the module crashed: panicked")
    );
    assert!(error("unknown").starts_with("CR-6001"));

    let bank = test().entities();
    let named = |operation: &str, input: Value| {
        cruster::remote_entity(&bank, "BankAccount/ada")
            .call::<Value, Value>(operation, input)
            .call()
            .unwrap_err()
    };
    assert_eq!(named("nothing", Value::Nil).code(), "CR-6002");
    let misfit = named("deposit", "five".into());
    assert_eq!(misfit.code(), "CR-6003");
    assert!(misfit.message().contains("expected int, got string"));
    assert_eq!(
        Account::client(&bank, "")
            .balance()
            .call()
            .unwrap_err()
            .code(),
        "CR-6010"
    );
}

#[test]
#[should_panic(expected = "there is no end of what happens")]
fn messages_without_an_end_are_found() {
    let bank = test().entities();
    Echo::client(&bank, "a").shout().call().unwrap();
    bank.settle();
}
