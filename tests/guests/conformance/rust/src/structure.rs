//! Workflows whose parts are bounded, joined and given up.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cruster::prelude::*;
use cruster::{JoinSet, Semaphore, join_all, try_join_all};

use crate::deferreds::GATE;
use crate::parallel::{NEVER, Numbers};
use crate::steps::Blocking;
use crate::{HOUR, MILLISECOND};

/// Counts the tasks that are inside at the same time.
#[derive(Default)]
struct Headcount {
    now: Cell<usize>,
    most: Cell<usize>,
}

/// A task that is inside until this is dropped.
struct Inside<'a>(&'a Headcount);

impl Headcount {
    fn enter(&self) -> Inside<'_> {
        self.now.set(self.now.get() + 1);
        self.most.set(self.most.get().max(self.now.get()));
        Inside(self)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.now.set(self.0.now.get() - 1);
    }
}

/// Tells how something ended.
fn outcome(result: Result<i64>) -> String {
    match result {
        Ok(n) => n.to_string(),
        Err(e) if e.is_timeout() => "too late".to_owned(),
        Err(e) if e.is_canceled() => "cancelled".to_owned(),
        Err(e) => e.error_type().to_owned(),
    }
}

/// Squares numbers, at most two at once: all of them, the ones there at a deadline, and
/// the ones before the first failure. It then waits for a signal, so that a test can see that it
/// waits for nothing else.
#[workflow]
pub struct Bounded {
    /// The module sets it.
    pub at_once: usize,
}

#[workflow_impl(activity_groups(Numbers), deferreds(GATE, NEVER))]
impl Bounded {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<String>> {
        let inside = Headcount::default();
        // A number below zero takes no step, and zero is never done.
        let work = |n: i64| {
            let inside = &inside;
            async move {
                let _inside = inside.enter();
                match n {
                    0 => self.await_deferred(NEVER).await,
                    n if n < 0 => Ok(n * n),
                    n => self.square(n).await,
                }
            }
        };
        let all = join_all([1, 2, 3, 4, 5].map(work))
            .limit(self.at_once)
            .await?;
        let deadline = self.sleep(MILLISECOND);
        let in_time = join_all([-1, 0, -2, -3, 0, -4].map(work))
            .limit(self.at_once)
            .settled_by(deadline)
            .await;
        let failed = try_join_all([-5, 13, 0, -6].map(work))
            .limit(self.at_once)
            .await;
        let mut log: Vec<String> = all.into_iter().map(|n| n.to_string()).collect();
        log.extend(in_time.into_iter().map(outcome));
        log.push(outcome(failed.map(|_| 0)));
        log.push(format!("most {}", inside.most.get()));
        log.push(format!("left {}", inside.now.get()));
        log.push(self.await_deferred(GATE).await?);
        Ok(log)
    }
}

/// Cancels two tasks: the first waits, the second does something that it does not leave half done.
#[workflow]
pub struct GivenUp;

#[workflow_impl(activity_groups(Blocking), deferreds(GATE))]
impl GivenUp {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<String>> {
        let log = Rc::new(RefCell::new(Vec::new()));
        let this = self.clone();
        let waiting = self.spawn(async move {
            let (n, ()) = cruster::join!(this.block(false), this.sleep(HOUR)).await?;
            Ok(n)
        });
        let (this, inner) = (self.clone(), log.clone());
        let shielded = self.spawn(async move {
            this.shield(this.sleep(5 * MILLISECOND)).await?;
            inner.borrow_mut().push("finished".to_owned());
            this.sleep(HOUR).await?;
            Ok(0)
        });
        self.sleep(MILLISECOND).await?;
        waiting.cancel();
        let ended = outcome(waiting.await);
        log.borrow_mut().push(ended);
        shielded.cancel();
        let ended = outcome(shielded.await);
        log.borrow_mut().push(ended);
        let signal = self.await_deferred(GATE).await?;
        log.borrow_mut().push(signal);
        Ok(log.take())
    }
}

/// Has tasks wait for a semaphore, and send their values through a channel.
#[workflow]
pub struct Slots;

#[workflow_impl]
impl Slots {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<String>> {
        let inside = Rc::new(Headcount::default());
        let (slots, (done, results)) = (Semaphore::new(self, 2), cruster::channel(self, 1));
        let mut tasks = JoinSet::new(self);
        for i in 0..5 {
            let (this, inside) = (self.clone(), inside.clone());
            let (slots, done) = (slots.clone(), done.clone());
            tasks.spawn(async move {
                // The third wants both, and the waiters behind it wait for it.
                let _slots = slots.acquire_many(if i == 2 { 2 } else { 1 }).await?;
                let _inside = inside.enter();
                this.sleep(MILLISECOND).await?;
                done.send(i).await
            });
        }
        drop(done);
        let mut log = Vec::new();
        while let Some(i) = results.recv().await? {
            log.push(outcome(Ok(i)));
        }
        while let Some(ended) = tasks.join_next().await {
            ended?;
        }
        log.push(format!("most {}", inside.most.get()));
        Ok(log)
    }
}
