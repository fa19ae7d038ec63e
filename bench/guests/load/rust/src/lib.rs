//! The guest of the benchmark. Its steps do next to nothing, so that the host is
//! measured. The guest in Go does the same.

mod kernel;

use cruster::prelude::*;

/// The request of all workflows here.
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Request {
    /// The key of the execution.
    pub run: String,
    /// How many steps to take, or how much to compute.
    pub n: i64,
    /// When a sleeper is to wake, in milliseconds since 1970.
    pub due: i64,
}

/// The promise that [`Waiter`] waits for.
pub const SETTLED: Deferred<i64> = Deferred::new("settled");

/// The signal that [`Waiter`] waits for as well.
#[derive(Serialize, Deserialize, Schema, Signal)]
#[serde(transparent)]
pub struct Signalled(i64);

/// An entity that counts.
#[stateful_entity]
#[derive(Clone, Default, Serialize, Deserialize, Schema)]
#[serde(transparent)]
pub struct Counter {
    count: i64,
}

#[operations]
impl Counter {
    fn add(&mut self, n: i64) -> Result<i64> {
        self.count += n;
        Ok(self.count)
    }

    #[read_only]
    fn get(&self, _nothing: cruster::Empty) -> i64 {
        self.count
    }
}

/// The request of [`Move`].
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct MoveRequest {
    pub run: String,
    pub from: String,
    pub to: String,
}

/// Moves one from a counter to another while it holds both, and returns the new value of
/// the second.
#[workflow]
pub struct Move;

#[workflow_impl(key = |r: &MoveRequest| r.run.clone(), hash = false)]
impl Move {
    async fn execute(&self, request: MoveRequest) -> Result<i64> {
        let _section = self
            .lock((
                Counter::id(request.from.as_str()),
                Counter::id(request.to.as_str()),
            ))
            .await?;
        Counter::client(self, request.from).add(-1).await?;
        Counter::client(self, request.to).add(1).await
    }
}

/// An entity without a state.
#[entity(name = "Echo", concurrency = 64)]
pub struct Echo;

#[entity_impl]
impl Echo {
    /// Returns its input.
    #[rpc]
    async fn echo(&self, n: i64) -> Result<i64> {
        Ok(n)
    }

    /// Returns its input, having been saved first.
    #[rpc(persisted)]
    async fn kept(&self, n: i64) -> Result<i64> {
        Ok(n)
    }
}

/// Takes n steps one after the other and adds up their results.
#[workflow]
pub struct Sequence;

#[workflow_impl(key = |request: &Request| request.run.clone(), hash = false)]
impl Sequence {
    async fn execute(&self, request: Request) -> Result<i64> {
        let mut sum = 0;
        for i in 0..request.n {
            sum += self.step(i).await?;
        }
        Ok(sum)
    }

    /// Returns its number.
    #[activity]
    async fn step(&self, n: i64) -> Result<i64> {
        Ok(n)
    }
}

/// Takes n steps at once and adds up their results.
#[workflow]
pub struct Parallel;

#[workflow_impl(key = |request: &Request| request.run.clone(), hash = false)]
impl Parallel {
    async fn execute(&self, request: Request) -> Result<i64> {
        let results = cruster::join_all((0..request.n).map(|i| self.parallel_step(i))).await?;
        Ok(results.iter().sum())
    }

    /// Returns its number.
    #[activity]
    async fn parallel_step(&self, n: i64) -> Result<i64> {
        Ok(n)
    }
}

/// Sleeps until it is due, and returns the real time after it, in microseconds.
#[workflow]
pub struct Sleeper;

#[workflow_impl(key = |request: &Request| request.run.clone(), hash = false)]
impl Sleeper {
    async fn execute(&self, request: Request) -> Result<i64> {
        self.sleep_until(Timestamp::from_unix_millis(request.due))
            .await?;
        self.clock().await
    }

    /// The real time, in microseconds since 1970.
    #[activity]
    async fn clock(&self) -> Result<i64> {
        Ok(self.now().unix_nanos() / 1000)
    }
}

/// Calls a Sleeper, and returns its result.
#[workflow]
pub struct Parent;

#[workflow_impl(key = |request: &Request| request.run.clone(), hash = false)]
impl Parent {
    async fn execute(&self, mut request: Request) -> Result<i64> {
        request.run += "-child";
        Sleeper::client(self).execute(request).await
    }
}

/// Takes n steps, then waits for a deferred, and returns its value.
#[workflow]
pub struct Waiter;

#[workflow_impl(key = |request: &Request| request.run.clone(), hash = false, signals(Signalled), deferreds(SETTLED))]
impl Waiter {
    async fn execute(&self, request: Request) -> Result<i64> {
        for i in 0..request.n {
            self.waiter_step(i).await?;
        }
        cruster::select! {
            value = self.await_deferred(SETTLED) => value,
            signalled = self.receive::<Signalled>() => Ok(signalled?.0),
        }
    }

    /// Returns its number.
    #[activity]
    async fn waiter_step(&self, n: i64) -> Result<i64> {
        Ok(n)
    }
}

/// Has one step, which computes.
#[workflow]
pub struct Compute;

#[workflow_impl(key = |request: &Request| request.run.clone(), hash = false)]
impl Compute {
    async fn execute(&self, request: Request) -> Result<String> {
        self.kernel(request.n).await
    }

    /// Computes, and returns its checksum and the nanoseconds that it took.
    #[activity]
    async fn kernel(&self, rounds: i64) -> Result<String> {
        let start = self.now();
        let sum = kernel::sum(rounds as usize);
        Ok(format!(
            "{sum} {}",
            self.now().duration_since(start).as_nanos()
        ))
    }
}

cruster::module! {
    workflows: [Move, Sequence, Parallel, Sleeper, Parent, Waiter, Compute],
    entities: [Counter, Echo],
}
