//! The kit refuses the same requests as a host, with its codes and its words.

use cruster::Value;
use cruster::prelude::*;
use cruster::testing::{Rows, Test};

use crate::unhurried::unhurried;

/// Does one thing that is refused.
#[workflow]
pub struct Refused;

#[workflow_impl]
impl Refused {
    async fn execute(&self, what: String) -> Result<String> {
        match what.as_str() {
            "ops" => {
                let sleeps: Vec<_> = (0..10_001)
                    .map(|_| self.spawn(self.sleep(Duration::from_secs(1))))
                    .collect();
                cruster::join_all(sleeps).await?;
            }
            "key with a control character" => drop(self.act(what).key("a\tb").await?),
            "name" => {
                cruster::remote::<(), ()>(self, &"n".repeat(1025))
                    .execute(())
                    .await?;
            }
            "raw key" => {
                let client = cruster::remote::<String, String>(self, "test/Refused");
                client.with_key_raw("a\nb").execute(String::new()).await?;
            }
            "reason" => {
                let client = cruster::remote::<(), ()>(self, "test/Refused");
                client
                    .interrupt("test/Refused/x", &"r".repeat(4097))
                    .await?;
            }
            "execution" => {
                let client = cruster::remote::<(), ()>(self, "test/Refused");
                client.interrupt("test/Refused/x", "").await?;
            }
            _ => return self.act(what).await,
        }
        Ok("not refused".to_owned())
    }

    #[activity]
    async fn act(&self, what: String) -> Result<String> {
        let http = self.http();
        match what.as_str() {
            "headers" => {
                let request = http.get("http://a.example").header("Host", "b.example");
                drop(request.send()?);
            }
            "body" => drop(
                http.post("http://a.example/p?q")
                    .body(vec![0; 4_000_000])
                    .send()?,
            ),
            "answer" => drop(http.get("http://a.example/p?q").send()?),
            "transaction" => {
                self.transaction().execute("DELETE FROM t", ())?;
                drop(http.get("http://a.example").send()?);
            }
            "rows" => {
                let rows = self
                    .transaction()
                    .query::<(String,)>("SELECT a FROM t", ())?;
                drop(rows);
            }
            "statement" => {
                self.transaction().execute(&"x".repeat(5 << 20), ())?;
            }
            _ => {}
        }
        Ok("not refused".to_owned())
    }
}

#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Sender {
    n: u32,
}

#[operations]
impl Sender {
    /// Sends to itself, or to an entity that is not there.
    fn send(&mut self, cx: &EntityContext, times: u32, to: String) -> Result<u32, Error> {
        for _ in 0..times {
            cruster::remote_entity(cx, format!("{to}/x"))
                .call::<_, u32>("count", ())
                .send()?;
        }
        Ok(self.count())
    }

    fn count(&mut self) -> u32 {
        self.n += 1;
        self.n
    }
}

cruster::module! { workflows: [Refused], entities: [Sender] }

fn test() -> Test {
    unhurried(&MODULE)
        .http(|_| Ok(cruster::HttpResponse::new(200, vec![0; 4_000_000])))
        .sql(|_: &str, _: &[Value]| Ok(Rows::new(["a"]).row(("x".repeat(5 << 20),))))
}

#[track_caller]
fn check(what: &str, code: &str, text: &str) {
    let run = test().run::<Refused>(what.to_owned());
    let e = run.result.unwrap_err();
    let want = format!("{code}: ");
    assert!(e.message().contains(&want), "{what}: {e}");
    assert!(e.message().contains(text), "{what}: {e}");
    run.history.replay().unwrap();
}

#[test]
fn ops() {
    for (what, code, text) in [
        (
            "ops",
            "CR-4003",
            "the workflow issued more than 10000 ops without waiting for one",
        ),
        (
            "key with a control character",
            "CR-4001",
            "the key \"a\\tb\"… is longer than 512 bytes, not UTF-8, or has a control character",
        ),
        (
            "name",
            "CR-4001",
            "\"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\" is not a valid name of a workflow or execution: it is longer than 1024 bytes, not UTF-8, or has a control character",
        ),
        (
            "raw key",
            "CR-2003",
            "the key \"a\\nb\" has a control character",
        ),
        (
            "reason",
            "CR-4001",
            "is longer than 4096 bytes, or not UTF-8",
        ),
        (
            "execution",
            "CR-2004",
            "there is no execution \"test/Refused/x\"",
        ),
    ] {
        check(what, code, text);
    }
}

#[test]
fn calls_of_activities() {
    for (what, code, text) in [
        (
            "headers",
            "CR-3205",
            "the header Host is not available to modules",
        ),
        (
            "body",
            "CR-3204",
            "the request to http://a.example/p has 4000000 bytes, more than 3670016",
        ),
        (
            "answer",
            "CR-3204",
            "GET http://a.example/p: the response has more than 3670016 bytes",
        ),
        (
            "transaction",
            "CR-3202",
            "a transaction is open; HTTP would hold it for as long as the other side likes",
        ),
        (
            "rows",
            "CR-3106",
            "the rows of the query have more than 4194304 bytes",
        ),
        ("statement", "CR-2005", "and 4194304 are allowed"),
    ] {
        check(what, code, text);
    }
}

#[test]
fn an_operation_with_a_message_that_is_refused_has_changed_nothing() {
    let bank = unhurried(&MODULE).entities();
    let send = |times, to: &str| {
        let sent = Sender::client(&bank, "a").send(times, to.to_owned()).call();
        sent.map_err(|e| e.to_string())
    };
    for (times, to, refusal) in [
        (
            1,
            "Nothing",
            "CR-6001: deployment \"test\" has no type of entity \"Nothing\"",
        ),
        (
            1001,
            "Sender",
            "CR-4003: an operation sent 1001 messages, the limit is 1000",
        ),
    ] {
        assert_eq!(send(times, to), Err(refusal.to_owned()));
    }
    assert!(bank.state::<Sender>("a").is_none());
    assert_eq!(send(1000, "Sender"), Ok(1));
    bank.settle();
    assert_eq!(bank.state::<Sender>("x").unwrap().n, 1000);
}
