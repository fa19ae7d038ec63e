//! Entities without a state: their RPCs and groups of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::{Rows, Test};
use cruster::wire::EntityInfo;
use cruster::{HttpResponse, Value};

use crate::unhurried::unhurried;

#[rpc_group]
pub struct HealthCheck;

#[rpc_group_impl]
impl HealthCheck {
    #[rpc]
    async fn ping(&self) -> Result<String, Error> {
        Ok(self.words().await)
    }

    async fn words(&self) -> String {
        format!("{} is well in {}", self.id(), self.namespace())
    }
}

#[rpc_group]
#[derive(Default)]
pub struct Settings {
    prefix: &'static str,
}

#[rpc_group_impl(name = "Config")]
impl Settings {
    #[rpc]
    async fn setting(&self, name: String) -> Result<Option<String>, Error> {
        Ok(self.config(&format!("{}{name}", self.prefix)))
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct Profile {
    name: String,
}

#[entity(
    name = "Gateway",
    mailbox_capacity = 50,
    concurrency = 4,
    max_idle_time_secs = 120,
    shard_group = "default"
)]
pub struct UserGateway;

#[entity_impl(rpc_groups(HealthCheck, Settings))]
impl UserGateway {
    const TABLE: &'static str = "users";

    /// Reads a profile.
    #[rpc]
    async fn profile(&self, user: String) -> Result<Profile, Error> {
        self.find(&user)
    }

    #[rpc(persisted)]
    async fn rename(&self, user: String, name: String) -> Result<bool, Error> {
        assert!(!self.idempotency_key().is_empty());
        let sql = format!("UPDATE {} SET name = $2 WHERE id = $1", Self::TABLE);
        let found = self.transaction().execute(&sql, (&user, &name))? > 0;
        if name.is_empty() {
            cruster::bail!("no_name", "a user needs a name");
        }
        Ok(found)
    }

    #[rpc]
    async fn fetch(&self, url: String) -> Result<i64, Error> {
        Ok(i64::from(self.http().get(&url).send()?.status))
    }

    #[rpc]
    async fn crash(&self) -> Result<(), Error> {
        panic!("a bug")
    }

    fn find(&self, user: &str) -> Result<Profile, Error> {
        let sql = "SELECT name FROM users WHERE id = $1";
        let name: String = self.transaction().query_one(sql, (user,))?;
        Ok(Profile { name })
    }
}

/// The same group in another entity.
#[entity]
pub struct Other;

#[entity_impl(rpc_groups(HealthCheck))]
impl Other {
    #[rpc]
    async fn nothing(&self) -> Result<(), Error> {
        Ok(())
    }
}

#[workflow]
pub struct Rename;

#[workflow_impl]
impl Rename {
    async fn execute(&self, name: String) -> Result<Vec<String>, Error> {
        let gateway = UserGateway::client(self, "eu");
        let found = gateway.rename("1".to_owned(), name).await?;
        gateway
            .rename("2".to_owned(), "Bob".to_owned())
            .send()
            .await?;
        let profile = gateway.profile("1".to_owned()).await?;
        let ping = Other::client(self, "us").ping().await?;
        let setting = gateway.setting("rate".to_owned()).await?;
        Ok(vec![
            found.to_string(),
            profile.name,
            ping,
            setting.unwrap_or_default(),
        ])
    }
}

cruster::module! { workflows: [Rename], entities: [UserGateway, Other] }

/// A table of users, with one kept aside while a transaction is open.
#[derive(Default, Clone)]
struct Users(Rc<RefCell<[BTreeMap<String, String>; 2]>>);

impl cruster::testing::Database for Users {
    fn begin(&mut self) -> Result<()> {
        let mut both = self.0.borrow_mut();
        both[1] = both[0].clone();
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn rollback(&mut self) {
        let mut both = self.0.borrow_mut();
        both[0] = both[1].clone();
    }

    fn execute(&mut self, _: &str, params: &[Value]) -> Result<u64> {
        let [Value::String(id), Value::String(name)] = params else {
            cruster::bail!("params", "{params:?}");
        };
        let old = self.0.borrow_mut()[0].insert(id.clone(), name.clone());
        Ok(u64::from(old.is_some()))
    }

    fn query(&mut self, _: &str, params: &[Value]) -> Result<Rows> {
        let [Value::String(id)] = params else {
            cruster::bail!("params", "{params:?}");
        };
        let both = self.0.borrow();
        let rows = Rows::new(["name"]);
        Ok(match both[0].get(id) {
            Some(name) => rows.row([Value::from(name)]),
            None => rows,
        })
    }
}

fn test() -> (Test, Users) {
    let users = Users::default();
    users.0.borrow_mut()[0].insert("1".to_owned(), "Ada".to_owned());
    let test = unhurried(&MODULE).sql(users.clone()).config("rate", "3%");
    (test, users)
}

#[test]
fn the_manifest_describes_them() {
    let listed = MODULE.manifest().entities.unwrap();
    let entities: Vec<EntityInfo> = listed.iter().map(|e| e.body().unwrap()).collect();
    let gateway = &entities[0];
    assert_eq!(
        (gateway.name.as_str(), gateway.state.is_none()),
        ("Gateway", true)
    );
    assert_eq!((gateway.mailbox, gateway.concurrency), (50, 4));
    assert_eq!(gateway.shard_group, "default");
    let operations = gateway.operations.as_ref().unwrap();
    let names: Vec<(&str, bool)> = operations
        .iter()
        .map(|o| (o.name.as_str(), o.persisted))
        .collect();
    assert_eq!(
        names,
        [
            ("Config.setting", false),
            ("HealthCheck.ping", false),
            ("crash", false),
            ("fetch", false),
            ("profile", false),
            ("rename", true)
        ]
    );
}

#[test]
fn a_test_calls_them_directly() {
    let (test, users) = test();
    let entities = test.http(|_| Ok(HttpResponse::new(204, ""))).entities();
    let gateway = UserGateway::client(&entities, "eu");
    let profile = gateway.profile("1".to_owned()).call().unwrap();
    assert_eq!(profile.name, "Ada");
    assert_eq!(gateway.ping().call().unwrap(), "eu is well in test");
    assert_eq!(
        gateway.setting("rate".to_owned()).call().unwrap().unwrap(),
        "3%"
    );
    assert_eq!(
        gateway
            .fetch("https://a.example/".to_owned())
            .call()
            .unwrap(),
        204
    );

    assert!(
        gateway
            .rename("1".to_owned(), "Eve".to_owned())
            .call()
            .unwrap()
    );
    let e = gateway
        .rename("1".to_owned(), String::new())
        .call()
        .unwrap_err();
    assert_eq!((e.code(), e.error_type()), ("CR-6006", "no_name"));
    assert_eq!(
        users.0.borrow()[0]["1"],
        "Eve",
        "what failed is rolled back"
    );

    let none = gateway.profile("9".to_owned()).call().unwrap_err();
    assert_eq!(none.code(), "CR-6006");
    assert_eq!(gateway.crash().call().unwrap_err().code(), "CR-6007");
}

#[test]
fn workflows_call_them() {
    let (test, users) = test();
    let run = test.run::<Rename>("Eve".to_owned());
    assert_eq!(
        run.result.unwrap(),
        ["true", "Eve", "us is well in test", "3%"]
    );
    assert_eq!(users.0.borrow()[0]["2"], "Bob");
    run.history.replay().unwrap();
}

#[test]
fn what_the_test_does_not_provide_is_named() {
    let entities = unhurried(&MODULE).entities();
    let gateway = UserGateway::client(&entities, "eu");
    let e = gateway.profile("1".to_owned()).call().unwrap_err();
    assert_eq!(e.code(), "CR-4002");
    assert_eq!(
        e.message(),
        "operation profile of test/Gateway/eu uses SQL, which the test does not provide"
    );
}
