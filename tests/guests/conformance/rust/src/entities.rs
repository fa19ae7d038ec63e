//! Entities, and workflows that call them.

use cruster::prelude::*;
use cruster::{Empty, Value, join_all, remote_entity};

use crate::deferreds::GATE;
use crate::signals::told;
use crate::steps::spin;
use crate::{MILLISECOND, Seen, map, seen};

#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Tally {
    /// The id of the tally, as its creation saw it.
    born: String,
    n: i64,
}

/// A tally as it is.
#[derive(Serialize, Deserialize, Schema)]
pub struct TallyState {
    born: String,
    n: i64,
}

impl From<TallyState> for Value {
    fn from(state: TallyState) -> Value {
        map([("born", state.born.into()), ("n", state.n.into())])
    }
}

#[operations]
impl Tally {
    fn on_create(&mut self, cx: &EntityContext) -> Result<()> {
        if cx.id() == "unborn" {
            cruster::bail!("unborn", "there shall be none");
        }
        cx.id().clone_into(&mut self.born);
        Ok(())
    }

    /// Adds, and fails too late if the sum is below zero.
    fn add(&mut self, n: i64) -> Result<i64> {
        self.n += n;
        if self.n < 0 {
            cruster::bail!("below_zero", "the sum would be {}", self.n);
        }
        Ok(self.n)
    }

    #[read_only]
    fn read(&self, _request: Empty) -> TallyState {
        TallyState {
            born: self.born.clone(),
            n: self.n,
        }
    }

    fn drop(&mut self, cx: &EntityContext, _request: Empty) -> Result<i64> {
        cx.destroy()?;
        Ok(self.n)
    }

    /// Sends a part to another tally, and fails too late if there is not so much.
    fn pass(&mut self, cx: &EntityContext, request: PassRequest) -> Result<i64> {
        self.n -= request.n;
        Tally::client(cx, request.to).add(request.n).send()?;
        if self.n < 0 {
            cruster::bail!("below_zero", "the sum would be {}", self.n);
        }
        Ok(self.n)
    }

    /// Starts a workflow that adds a thousand.
    fn report(&mut self, cx: &EntityContext, _request: Empty) -> Result<bool> {
        cx.workflow::<TallyReported>()
            .with_key_raw(cx.id())
            .start(cx.id().to_owned())?;
        Ok(true)
    }

    /// Crashes, with a change that no other operation may see.
    fn panic(&mut self, _request: Empty) -> Result<i64> {
        self.n = -1;
        panic!("on purpose");
    }

    /// Never ends if it is asked not to.
    fn spin(&mut self, endless: bool) -> i64 {
        if endless {
            spin();
        }
        self.n
    }
}

/// Names another tally, and how much it gets.
#[derive(Serialize, Deserialize, Schema)]
pub struct PassRequest {
    n: i64,
    to: String,
}

/// A group of RPCs, as others may share it.
#[rpc_group]
pub struct Health;

#[rpc_group_impl]
impl Health {
    #[rpc]
    async fn check(&self) -> Result<String> {
        Ok(format!("{} is well", self.id()))
    }
}

#[entity]
pub struct Ledger;

#[entity_impl(rpc_groups(Health))]
impl Ledger {
    /// Counts in SQL, and fails behind its statement if it is asked to.
    #[rpc(persisted)]
    async fn note(&self, fail: bool) -> Result<i64> {
        self.transaction().execute(
            "INSERT INTO counters (name, n) VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET n = counters.n + 1",
            (self.id(),),
        )?;
        if fail {
            cruster::bail!("after_sql", "it failed after its statement");
        }
        self.count()
    }

    #[rpc]
    async fn read(&self, _request: Empty) -> Result<i64> {
        self.count()
    }

    fn count(&self) -> Result<i64> {
        let (n,) = self
            .transaction()
            .query_one("SELECT n FROM counters WHERE name = $1", (self.id(),))?;
        Ok(n)
    }
}

/// Calls a tally from before it is there to its second life.
#[workflow]
pub struct TallyLife;

#[workflow_impl]
impl TallyLife {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let tally = Tally::client(self, id);
        Ok(vec![
            seen(tally.read(Empty {}).await),
            seen(tally.add(5).await),
            seen(tally.add(-9).await),
            seen(tally.read(Empty {}).await),
            seen(tally.drop(Empty {}).await),
            seen(tally.read(Empty {}).await),
            seen(tally.add(1).await),
        ])
    }
}

/// Sends, and sees with its next call the effect of all messages.
#[workflow]
pub struct TallySends;

#[workflow_impl]
impl TallySends {
    async fn execute(&self, id: String) -> Result<TallyState> {
        let tally = Tally::client(self, id);
        for n in [1, -5, 20, 300] {
            tally.add(n).send().await?;
        }
        tally.read(Empty {}).await
    }
}

/// Has a tally pass parts to another one. A refused call has sent nothing.
#[workflow]
pub struct TallyPasses;

#[workflow_impl]
impl TallyPasses {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let other = format!("{id}-other");
        let tally = Tally::client(self, id);
        let mut all = vec![seen(tally.add(10).await)];
        for n in [4, 100, 1] {
            let to = other.clone();
            all.push(seen(tally.pass(PassRequest { n, to }).await));
        }
        all.push(seen(self.await_tally(other, 5).await));
        Ok(all)
    }

    async fn await_tally(&self, id: String, sum: i64) -> Result<TallyState> {
        let tally = Tally::client(self, id);
        loop {
            let state = tally.read(Empty {}).await?;
            if state.n >= sum {
                return Ok(state);
            }
            self.sleep(MILLISECOND).await?;
        }
    }
}

/// Has a tally start a workflow, which calls it.
#[workflow]
pub struct TallyReports;

#[workflow_impl]
impl TallyReports {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let tally = Tally::client(self, id);
        let mut all = vec![
            seen(tally.add(3).await),
            seen(tally.report(Empty {}).await),
            seen(tally.report(Empty {}).await),
        ];
        loop {
            let state = tally.read(Empty {}).await?;
            if state.n >= 1003 {
                all.push(seen(Ok(state)));
                return Ok(all);
            }
            self.sleep(MILLISECOND).await?;
        }
    }
}

/// The workflow that a tally starts.
#[workflow]
pub struct TallyReported;

#[workflow_impl]
impl TallyReported {
    async fn execute(&self, id: String) -> Result<i64> {
        Tally::client(self, id).add(1000).await
    }
}

/// Makes calls that fail.
#[workflow]
pub struct TallyErrors;

#[workflow_impl]
impl TallyErrors {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let tally = Tally::client(self, id.as_str());
        let named = remote_entity(self, format!("conformance/Tally/{id}"));
        let missing = remote_entity(self, format!("conformance/Missing/{id}"));
        Ok(vec![
            seen(tally.add(1).await),
            seen(tally.panic(Empty {}).await),
            seen(tally.add(1).await),
            seen(Tally::client(self, "unborn").add(1).await),
            seen(named.call::<_, i64>("add", "one").await),
            seen(named.call::<_, i64>("nothing", 1).await),
            seen(missing.call::<_, i64>("add", 1).await),
            told(missing.call::<_, i64>("add", 1).send().await),
        ])
    }
}

/// Has calls under way at the same time.
#[workflow]
pub struct TallyTogether;

#[workflow_impl]
impl TallyTogether {
    async fn execute(&self, id: String) -> Result<i64> {
        let tally = Tally::client(self, id);
        join_all((0..10).map(|_| tally.add(1))).await?;
        tally.add(0).await
    }
}

/// Waits at the gate between two calls.
#[workflow]
pub struct TallyWatched;

#[workflow_impl(deferreds(GATE))]
impl TallyWatched {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let tally = Tally::client(self, id);
        let first = seen(tally.add(1).await);
        self.await_deferred(GATE).await?;
        Ok(vec![first, seen(tally.read(Empty {}).await)])
    }
}

/// Adds by a call and by a message, and returns the sum.
#[workflow]
pub struct TallySum;

#[workflow_impl]
impl TallySum {
    async fn execute(&self, id: String) -> Result<i64> {
        let tally = Tally::client(self, id);
        tally.add(100).await?;
        tally.add(10_000).send().await?;
        tally.add(0).await
    }
}

/// Calls an entity without a state, which has its own in SQL, and an RPC of a group that it
/// includes.
#[workflow]
pub struct LedgerNotes;

#[workflow_impl]
impl LedgerNotes {
    async fn execute(&self, id: String) -> Result<Vec<Seen>> {
        let ledger = Ledger::client(self, id);
        Ok(vec![
            seen(ledger.note(false).await),
            seen(ledger.note(true).await),
            told(ledger.note(false).send().await),
            seen(ledger.note(false).await),
            seen(ledger.read(Empty {}).await),
            seen(ledger.check().await),
        ])
    }
}
