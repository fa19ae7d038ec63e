//! The workflow.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::io::Read;
use std::time::{Instant, SystemTime};

use cruster::prelude::*;
use cruster::{Value, first, join_all, remote};

use crate::imports::Call;
use crate::{Saw, Seen};

const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

pub const EFFECTS: Migration =
    Migration::new(1, "effects", "CREATE TABLE effects (key TEXT NOT NULL)");

const OPEN: Deferred<String> = Deferred::new("open");
const ANSWER: Deferred<String> = Deferred::new("answer");
const DENIED: Deferred<String> = Deferred::new("denied");
const OWN: Deferred<String> = Deferred::new("own");
const LATE: Deferred<String> = Deferred::new("late");
const NEVER: Deferred<String> = Deferred::new("never");

/// Is called and sent to.
#[workflow]
pub struct Callee;

#[workflow_impl(key = |name: &String| name.clone(), hash = false)]
impl Callee {
    async fn execute(&self, name: String) -> Result<String> {
        if name == "fails" {
            cruster::bail!("failed", "the callee failed");
        }
        Ok(format!("{name} {}", self.uuid()))
    }
}

/// The request to the workflow.
#[derive(Serialize, Deserialize, Schema)]
pub struct Request {
    /// Made to imports that refuse them, or whose ops are given up.
    calls: Vec<Call>,
    /// The limit of the memory, in pages of 64 KiB.
    pages: i64,
}

/// The workflow. Tests settle its deferreds, and interrupt it at its end.
#[workflow]
pub struct Everything;

#[workflow_impl(key = |_: &Request| "everything", hash = false, deferreds(OPEN, ANSWER, DENIED, OWN, LATE, NEVER))]
impl Everything {
    async fn execute(&self, request: Request) -> Result<Vec<Saw>> {
        let mut saw = Seen::default();
        let began = Instant::now();
        self.machine(&mut saw);
        self.clock(&mut saw, began);
        self.chance(&mut saw);
        let opened = self.spawn(self.await_deferred(OPEN));
        self.sleep(MILLISECOND).await?;
        saw.refusals(request.calls);
        saw.result("opened", opened.await.map(|_| ()));
        self.clock(&mut saw, began);
        self.steps(&mut saw).await;
        self.deferreds(&mut saw).await;
        self.callees(&mut saw).await;
        self.waits(&mut saw).await;
        self.chance(&mut saw);
        self.interrupt(&mut saw).await;
        self.clock(&mut saw, began);
        let room = std::hint::black_box(Vec::<u8>::with_capacity(1 << 20)); // for the result
        saw.memory(request.pages);
        drop(room);
        Ok(saw.0)
    }

    /// The workflow's view of itself and of the machine.
    fn machine(&self, saw: &mut Seen) {
        saw.add("execution", self.execution_id());
        saw.add("namespace", self.namespace());
        let environment: Vec<_> = std::env::vars_os().collect();
        let arguments = std::env::args_os().count();
        saw.add("environment", format!("{environment:?} {arguments}"));
        let file = std::fs::read("/etc/hostname").map(|_| ());
        saw.add("a file", format!("{file:?}"));
        let folder = std::fs::read_dir("/").map(|_| ());
        saw.add("a folder", format!("{folder:?}"));
        let read = std::io::stdin().read(&mut [0; 8]);
        saw.add("standard input", format!("{read:?}"));
        println!("printed by the workflow");
        let wide = black_box(0.0_f64) / black_box(0.0);
        let narrow = black_box(0.0_f32) / black_box(0.0);
        // Its bits are the processor's; in a payload they are always the same.
        let numbers = [Value::Float(wide), Value::Float32(narrow)];
        saw.add("not a number", Value::List(numbers.into()));
    }

    fn clock(&self, saw: &mut Seen, began: Instant) {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let clocks = format!("{} {wall:?} {:?}", self.now(), began.elapsed());
        saw.add("clocks", clocks);
    }

    /// Draws from all that is random in an ordinary program.
    fn chance(&self, saw: &mut Seen) {
        let random = self.random();
        saw.add("uuid", self.uuid());
        saw.add("random number of the SDK", random.u64().to_string());
        saw.add("random bytes of the SDK", format!("{:x?}", random.bytes(8)));
        let drawn = format!("{} {}", random.range(0..1_000_000), random.f64());
        saw.add("random numbers of the SDK", drawn);
        let hash = RandomState::new().hash_one(0);
        saw.add("random state of the library", hash.to_string());
        let set: HashSet<i32> = (0..40).collect();
        let order: Vec<String> = set.iter().map(ToString::to_string).collect();
        saw.add("order of a set", order.join(" "));
    }

    /// Calls activities.
    async fn steps(&self, saw: &mut Seen) {
        let first = || "first".to_owned();
        saw.result("an activity", self.note(first()).await);
        saw.result("the same once more", self.note(first()).await);
        let keyed = self.note("keyed".to_owned()).key("explicit").await;
        saw.result("with a key", keyed);
        saw.result("with SQL", self.write(cruster::Empty {}).await);
        saw.result("that fails", self.fail(cruster::Empty {}).await);
        saw.add("entries, with those of failed attempts", self.history_len());
    }

    /// Waits for deferreds, and settles its own.
    async fn deferreds(&self, saw: &mut Seen) {
        saw.result("answer", self.await_deferred(ANSWER).await);
        saw.result("denied", self.await_deferred(DENIED).await);
        for text in ["mine", "too late"] {
            let first = self.resolve_deferred(OWN, text.to_owned()).await;
            saw.result(&format!("resolve {text}"), first);
        }
        saw.result("own", self.await_deferred(OWN).await);
        let elsewhere = "golden/Callee/missing";
        let text = "no one is there".to_owned();
        let first = self.resolve_deferred_in(elsewhere, OWN, text).await;
        saw.result("resolve elsewhere", first);
    }

    /// Calls, sends and polls.
    async fn callees(&self, saw: &mut Seen) {
        let callee = Callee::client(self);
        saw.result("call", callee.execute("called".to_owned()).await);
        let failed = callee.execute("fails".to_owned()).await;
        saw.result("call of one that fails", failed);
        saw.result("send", callee.start("sent".to_owned()).await);
        let done = callee.poll("golden/Callee/called").await;
        let told = done.map(|poll| format!("{} {:?}", poll.state, poll.outcome));
        saw.result("poll", told);
        let none = callee.poll("golden/Callee/missing").await;
        saw.result("poll of none", none.map(|poll| poll.state));
        let missing = remote::<String, String>(self, "Missing");
        saw.result("call of none", missing.execute("x".to_owned()).await);
    }

    /// Has ops race each other, and asks about changes of the code.
    async fn waits(&self, saw: &mut Seen) {
        let mut patched = Vec::new();
        for id in ["one", "one", "two"] {
            patched.push(Value::from(self.patched(id).await));
        }
        saw.add("patched", Value::List(patched));
        let late = self.timeout(MILLISECOND, self.await_deferred(LATE)).await;
        saw.result("timeout", late);
        let won = first([self.sleep(HOUR), self.sleep(MILLISECOND)]).await;
        saw.result("first", won.map(|(i, ())| i.to_string()));
        let all = join_all([self.sleep(2 * MILLISECOND), self.sleep(MILLISECOND)]).await;
        saw.result("all", all.map(|_| ()));
    }

    /// Waits until it is interrupted, and cleans up.
    async fn interrupt(&self, saw: &mut Seen) {
        saw.add("interrupted before", self.interrupted());
        saw.result("never", self.await_deferred(NEVER).await);
        saw.add("interrupted", self.interrupted());
        saw.add("reason", self.interrupt_reason());
        saw.result("not shielded", self.note("not shielded".to_owned()).await);
        let shielded = self.shield(self.note("shielded".to_owned())).await;
        saw.result("shielded", shielded);
    }

    #[activity]
    async fn note(&self, text: String) -> Result<String> {
        Ok(format!(
            "{text} {} {}",
            self.attempt(),
            self.idempotency_key()
        ))
    }

    #[activity]
    async fn write(&self, _request: cruster::Empty) -> Result<i64> {
        let key = self.idempotency_key();
        let rows = self
            .transaction()
            .execute("INSERT INTO effects (key) VALUES ($1)", (key,))?;
        Ok(i64::try_from(rows).unwrap_or(0))
    }

    #[activity(retries = 1, backoff = "constant", base = "1ms")]
    async fn fail(&self, _request: cruster::Empty) -> Result<String> {
        let key = BTreeMap::from([("key", self.idempotency_key())]);
        let e = cruster::err!("declined", "attempt {} was declined", self.attempt());
        Err(e.with_details(&key))
    }
}
