//! Activities: SQL, HTTP and configuration, and how their errors, panics and rows are
//! handled.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::{Database, Rows, Test};
use cruster::{HttpResponse, Value};

use crate::unhurried::unhurried;

#[derive(Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct Row {
    id: i64,
    paid: bool,
    at: Timestamp,
    note: Option<String>,
}

#[workflow]
pub struct Act;

#[workflow_impl]
impl Act {
    async fn execute(&self, case: String) -> Result<String, Error> {
        match case.as_str() {
            "sql" => self.sql().await,
            "statements" => self.statements().await,
            "late" => self.late().await,
            "http" => self.call_out().await,
            "config" => self.settings().await,
            "panic" => self.explode().await,
            "wait" => self.wait().await,
            _ => self.identity().await,
        }
    }

    #[activity(retries = 2, base = "1s")]
    async fn sql(&self) -> Result<String, Error> {
        let tx = self.transaction();
        let changed = tx.execute("UPDATE orders SET paid = $1 WHERE id = $2", (true, 7))?;
        let rows: Vec<Row> = tx.query("SELECT rows", ())?;
        let pairs: Vec<(i64, Option<String>)> = tx.query("SELECT pairs", ())?;
        let count: u64 = tx.query_one("SELECT count", [])?;
        let maps: Vec<BTreeMap<String, Value>> = tx.query("SELECT count", ())?;
        let none: Option<i64> = tx.query_optional("SELECT none", ())?;
        let missing = tx.query_one::<i64>("SELECT none", ()).unwrap_err();
        let misfit = tx.query::<i8>("SELECT count", ()).unwrap_err();
        let null = tx.query::<(i64, String)>("SELECT pairs", ()).unwrap_err();
        let lacks = tx.query::<Row>("SELECT count", ()).unwrap_err();
        let many = tx
            .query_one::<(i64, Value)>("SELECT pairs", ())
            .unwrap_err();
        let many_too = tx
            .query_optional::<(i64, Value)>("SELECT pairs", ())
            .unwrap_err();
        assert_eq!(many.to_string(), many_too.to_string());
        if self.attempt() == 1 {
            cruster::bail!("again", "rolled back");
        }
        Ok(format!(
            "{changed} {rows:?} {pairs:?} {count} {maps:?} {none:?} {missing}; {misfit}; {null}; {lacks}; {many}"
        ))
    }

    /// Does not look at errors.
    #[activity]
    async fn late(&self) -> Result<String, Error> {
        let tx = self.transaction();
        drop(tx.execute("UPDATE orders SET paid = $1 WHERE id = $2", (true, 7)));
        drop(tx.query::<i64>("SELECT count", ()));
        Ok("fine".to_owned())
    }

    #[activity]
    async fn statements(&self) -> Result<String, Error> {
        let tx = self.transaction();
        let changed = cruster::query("UPDATE orders SET paid = $1 WHERE id = $2")
            .bind(true)
            .bind(7)
            .execute(&tx)?;
        let rows: Vec<Row> = cruster::query_as("SELECT rows").fetch_all(&tx)?;
        let count = cruster::query_as::<u64>("SELECT count")
            .bind("x")
            .fetch_one(&tx)?;
        let none = cruster::query_as::<i64>("SELECT none");
        let (missing, optional) = (none.clone().fetch_one(&tx), none.fetch_optional(&tx)?);
        let missing = missing.is_err_and(|e| e.is_no_rows());
        Ok(format!(
            "{changed} {} {count} {missing} {optional:?}",
            rows[0].id
        ))
    }

    #[activity(retries = 3, backoff = "constant", base = "2s")]
    async fn call_out(&self) -> Result<String, Error> {
        let answer = self
            .http()
            .post("https://pay.example.com/charges")
            .header("Idempotency-Key", self.idempotency_key())
            .json(r#"{"cents":300}"#)
            .timeout(Duration::from_secs(5))
            .send()?
            .error_for_status()?;
        Ok(answer.text()?.to_owned())
    }

    #[activity]
    async fn settings(&self) -> Result<String, Error> {
        Ok(format!(
            "{:?} {:?}",
            self.config("url"),
            self.config("none")
        ))
    }

    #[activity]
    async fn explode(&self) -> Result<String, Error> {
        panic!("the boiler is too hot");
    }

    #[activity]
    async fn wait(&self) -> Result<String, Error> {
        std::future::pending().await
    }

    #[activity]
    async fn identity(&self) -> Result<String, Error> {
        Ok(format!(
            "{} {} {} {}",
            self.execution_id(),
            self.namespace(),
            self.idempotency_key(),
            self.now()
        ))
    }
}

cruster::module! {
    workflows: [Act],
    migrations: [Migration::new(2, "two", "SELECT 2").sqlite(), Migration::new(1, "one", "SELECT 1")],
}

fn run(test: Test, case: &str) -> Result<String> {
    test.run::<Act>(case.to_owned()).result
}

/// A database that answers as SQLite does, and counts.
struct Ledger(Rc<RefCell<Vec<String>>>);

impl Database for Ledger {
    fn begin(&mut self) -> Result<()> {
        self.0.borrow_mut().push("begin".to_owned());
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.0.borrow_mut().push("commit".to_owned());
        Ok(())
    }

    fn rollback(&mut self) {
        self.0.borrow_mut().push("rollback".to_owned());
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64> {
        self.0.borrow_mut().push(format!("{sql} {params:?}"));
        Ok(1)
    }

    fn query(&mut self, sql: &str, _: &[Value]) -> Result<Rows> {
        Ok(match sql {
            "SELECT rows" => Rows::new(["id", "paid", "at", "note"]).row((
                1,
                1,
                "2026-01-01 00:00:00",
                None::<String>,
            )),
            "SELECT pairs" => Rows::new(["id", "name"])
                .row(("12", "x"))
                .row((2.0, None::<String>)),
            "SELECT count" => Rows::new(["n"]).row((300,)),
            _ => Rows::new(["n"]),
        })
    }
}

#[test]
fn statements_can_be_put_together() {
    let ledger = Rc::new(RefCell::new(Vec::new()));
    let test = unhurried(&MODULE).sql(Ledger(ledger.clone()));
    assert_eq!(run(test, "statements").unwrap(), "1 1 300 true None");
    let update = "UPDATE orders SET paid = $1 WHERE id = $2 [Bool(true), Int(7)]";
    assert_eq!(*ledger.borrow(), ["begin", update, "commit"]);
}

#[test]
fn statements_run_in_a_transaction_that_an_error_rolls_back() {
    let ledger = Rc::new(RefCell::new(Vec::new()));
    let result = run(unhurried(&MODULE).sql(Ledger(ledger.clone())), "sql").unwrap();
    assert_eq!(
        result,
        "1 [Row { id: 1, paid: true, at: 2026-01-01T00:00:00Z, note: None }] [(12, Some(\"x\")), (2, None)] 300 \
         [{\"n\": Int(300)}] None the query found no row; \
         row 1: column \"n\" holds Int(300), which does not fit i8; \
         row 2: column \"name\" is NULL, which does not fit a text: use an Option; \
         row 1: field `id` has no column among [\"n\"]: select it, or give the field #[serde(default)]; \
         the query found more than one row: narrow it, or add LIMIT 1"
    );
    let update = "UPDATE orders SET paid = $1 WHERE id = $2 [Bool(true), Int(7)]";
    assert_eq!(
        *ledger.borrow(),
        ["begin", update, "rollback", "begin", update, "commit"]
    );
}

/// Without any time, a transaction ends as soon as it has begun.
#[test]
fn a_transaction_that_is_open_for_too_long_is_rolled_back() {
    let late = "CR-3103: the transaction was open for longer than 0s";
    let update = "UPDATE orders SET paid = $1 WHERE id = $2 [Bool(true), Int(7)]";
    for (case, did) in [("sql", 3), ("late", 1)] {
        let ledger = Rc::new(RefCell::new(Vec::new()));
        let test = unhurried(&MODULE)
            .sql(Ledger(ledger.clone()))
            .transaction_limit(Duration::ZERO);
        let e = run(test, case).unwrap_err();
        assert_eq!(e.message(), late);
        assert_eq!(*ledger.borrow(), ["begin", update, "rollback"].repeat(did));
    }
}

#[test]
fn a_closure_answers_statements() {
    let refuse = |sql: &str, _: &[Value]| Err(Error::message_only(format!("no such table: {sql}")));
    let e = run(unhurried(&MODULE).sql(refuse), "sql").unwrap_err();
    assert!(
        e.message()
            .starts_with("CR-3101: no such table: UPDATE orders"),
        "{e}"
    );
    let e = run(unhurried(&MODULE), "sql").unwrap_err();
    assert!(
        e.message()
            .contains("activity sql uses SQL, which the test does not provide"),
        "{e}"
    );
}

#[test]
fn http_is_answered_and_retried() {
    let calls = Rc::new(RefCell::new(0));
    let counted = calls.clone();
    let test = unhurried(&MODULE).http(move |request| {
        *counted.borrow_mut() += 1;
        assert_eq!(
            (request.method.as_str(), request.header("content-type")),
            ("POST", Some("application/json"))
        );
        assert_eq!(
            request
                .header("idempotency-key")
                .map(|k| k.contains("/call_out/") && k.ends_with("/1")),
            Some(true)
        );
        let busy = *counted.borrow() < 3;
        Ok(if busy {
            HttpResponse::new(503, " busy ")
        } else {
            HttpResponse::new(200, "charged")
        })
    });
    let run = test.run::<Act>("http".to_owned());
    assert_eq!(run.result.unwrap(), "charged");
    assert_eq!(
        (*calls.borrow(), run.history.duration()),
        (3, Duration::from_secs(4))
    );

    let test = unhurried(&MODULE).http(|_| Ok(HttpResponse::new(404, "gone")));
    let run = test.run::<Act>("http".to_owned());
    let e = run.result.unwrap_err();
    assert_eq!(
        (e.error_type(), e.message().as_str()),
        ("http_status", "the answer has status 404: gone")
    );
    assert_eq!(run.history.duration(), Duration::ZERO);
}

#[test]
fn configuration_is_read() {
    let test = unhurried(&MODULE).config("url", "https://x");
    assert_eq!(run(test, "config").unwrap(), "Some(\"https://x\") None");
}

#[test]
fn panics_are_failures_of_the_attempt() {
    let e = run(unhurried(&MODULE), "panic").unwrap_err();
    let (before, after) = e
        .message()
        .split_once("activities.rs:")
        .map(|(before, after)| (before.to_owned(), after.to_owned()))
        .expect("the message says where it panicked");
    assert!(before.starts_with("CR-3003: activity \"explode\": the module crashed: panicked at "));
    assert!(after.ends_with(": the boiler is too hot"), "{after}");
}

#[test]
fn activities_cannot_wait() {
    let e = run(unhurried(&MODULE), "wait").unwrap_err();
    assert!(
        e.message()
            .starts_with("CR-4002: activity wait waits for a future that is not ready"),
        "{e}"
    );
}

#[test]
fn an_attempt_knows_whose_it_is() {
    let test = unhurried(&MODULE).execution_id("shop/Act/1");
    assert_eq!(
        run(test, "identity").unwrap(),
        "shop/Act/1 test shop/Act/1/identity/76be8b52/1 2030-01-01T00:00:00Z"
    );
}

#[test]
fn migrations_are_in_the_manifest_in_order() {
    let migrations = MODULE.manifest().migrations.unwrap();
    let told: Vec<String> = migrations
        .iter()
        .map(|m| format!("{} {} {}", m.version, m.name, m.dialect))
        .collect();
    assert_eq!(told, ["1 one ", "2 two sqlite"]);
}
