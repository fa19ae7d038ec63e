//! The entities of tests/scenarios: small things that people build with entities which keep
//! nothing themselves and have their rows in SQL.

use cruster::prelude::*;

/// The common operation of all these entities.
#[rpc_group]
pub struct Health;

#[rpc_group_impl]
impl Health {
    /// Which entity answers.
    #[rpc]
    async fn check(&self) -> Result<String> {
        Ok(format!("{} is well", self.id()))
    }
}

/// Counts in SQL.
#[entity]
pub struct Counter;

#[entity_impl(rpc_groups(Health))]
impl Counter {
    /// Adds to the counter, and returns its value then.
    #[rpc(persisted)]
    async fn increment(&self, n: i64) -> Result<i64> {
        if n == 0 {
            cruster::bail!("nothing", "0 is no increment");
        }
        let (n,) = self.transaction().query_one(
            "INSERT INTO counters (id, n) VALUES ($1, $2) \
             ON CONFLICT (id) DO UPDATE SET n = counters.n + $2 RETURNING n",
            (self.id(), n),
        )?;
        Ok(n)
    }

    /// The value of the counter.
    #[rpc]
    async fn get(&self) -> Result<i64> {
        let (n,) = self.transaction().query_one(
            "SELECT coalesce(sum(n), 0) FROM counters WHERE id = $1",
            (self.id(),),
        )?;
        Ok(n)
    }
}

/// A key with its value.
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Pair {
    pub key: String,
    pub value: String,
}

/// The value under a key, if any.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct Found {
    pub found: bool,
    pub value: String,
}

/// A key-value store.
#[entity(name = "KV", concurrency = 4)]
pub struct Store;

#[entity_impl(rpc_groups(Health))]
impl Store {
    /// Writes a pair.
    #[rpc(persisted)]
    async fn set(&self, pair: Pair) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO pairs (store, name, value) VALUES ($1, $2, $3) \
             ON CONFLICT (store, name) DO UPDATE SET value = $3",
            (self.id(), &pair.key, &pair.value),
        )?;
        Ok(true)
    }

    /// Reads the value under a key.
    #[rpc]
    async fn get(&self, key: String) -> Result<Found> {
        let row: Option<(String,)> = self.transaction().query_optional(
            "SELECT value FROM pairs WHERE store = $1 AND name = $2",
            (self.id(), &key),
        )?;
        Ok(row.map_or_else(Found::default, |(value,)| Found { found: true, value }))
    }

    /// Deletes a pair, and tells whether there was one.
    #[rpc(persisted)]
    async fn delete(&self, key: String) -> Result<bool> {
        let n = self.transaction().execute(
            "DELETE FROM pairs WHERE store = $1 AND name = $2",
            (self.id(), &key),
        )?;
        Ok(n == 1)
    }

    /// Lists the keys in order.
    #[rpc]
    async fn keys(&self) -> Result<Vec<String>> {
        let rows: Vec<(String,)> = self.transaction().query(
            "SELECT name FROM pairs WHERE store = $1 ORDER BY name",
            (self.id(),),
        )?;
        Ok(rows.into_iter().map(|(name,)| name).collect())
    }
}

/// Has timers.
#[entity]
pub struct Clock;

#[entity_impl(rpc_groups(Health))]
impl Clock {
    /// Notes a timer that is pending.
    #[rpc(persisted)]
    async fn arm(&self, name: String) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO timers (clock, name, state) VALUES ($1, $2, 'pending')",
            (self.id(), &name),
        )?;
        Ok(true)
    }

    /// Has a timer fire that is pending still.
    #[rpc(persisted)]
    async fn fire(&self, name: String) -> Result<bool> {
        self.end(&name, "fired")
    }

    /// Cancels a timer that is pending still.
    #[rpc(persisted)]
    async fn cancel(&self, name: String) -> Result<bool> {
        self.end(&name, "cancelled")
    }

    /// Lists the names of timers in a state, in order.
    #[rpc]
    async fn timers(&self, state: String) -> Result<Vec<String>> {
        let rows: Vec<(String,)> = self.transaction().query(
            "SELECT name FROM timers WHERE clock = $1 AND state = $2 ORDER BY name",
            (self.id(), &state),
        )?;
        Ok(rows.into_iter().map(|(name,)| name).collect())
    }

    fn end(&self, name: &str, state: &str) -> Result<bool> {
        let n = self.transaction().execute(
            "UPDATE timers SET state = $3 WHERE clock = $1 AND name = $2 AND state = 'pending'",
            (self.id(), name, state),
        )?;
        Ok(n == 1)
    }
}

/// The request of [`Schedule`].
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Timer {
    pub clock: String,
    pub name: String,
    pub ms: i64,
}

/// Sets a timer, waits, and has it fire unless it was cancelled. It tells whether it fired.
#[workflow]
pub struct Schedule;

#[workflow_impl(key = |t: &Timer| format!("{}-{}", t.clock, t.name), hash = false)]
impl Schedule {
    async fn execute(&self, timer: Timer) -> Result<bool> {
        let clock = Clock::client(self, timer.clock);
        clock.arm(timer.name.clone()).await?;
        self.sleep(Duration::from_millis(timer.ms as u64)).await?;
        clock.fire(timer.name).await
    }
}

cruster::module! {
    workflows: [Schedule],
    entities: [Clock, Counter, Store],
    migrations: [
        Migration::new(1, "counters", "CREATE TABLE counters (id TEXT PRIMARY KEY, n BIGINT NOT NULL)"),
        Migration::new(2, "pairs", "CREATE TABLE pairs (store TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (store, name))"),
        Migration::new(3, "timers", "CREATE TABLE timers (clock TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (clock, name))"),
    ],
}
