//! Activities one after the other: that they are retried, and that they may die.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::OnceLock;

use cruster::prelude::*;

use crate::{HOUR, MILLISECOND, Seen, seen};

/// Takes n steps, one after the other, and returns their results.
#[workflow]
pub struct Sequence;

#[workflow_impl(activity_groups(Steps))]
impl Sequence {
    async fn execute(&self, n: i64) -> Result<Vec<i64>> {
        let mut out = Vec::new();
        let mut sum = 0;
        for i in 0..n {
            sum = self.add(vec![sum, i]).await?;
            out.push(sum);
        }
        Ok(out)
    }
}

#[activity_group]
pub struct Steps;

#[activity_group_impl(retries = 2, backoff = "constant", base = "1ms")]
impl Steps {
    #[activity]
    async fn add(&self, n: Vec<i64>) -> Result<i64> {
        Ok(n[0] + n[1])
    }
}

/// Describes an activity that fails and how it is retried.
#[derive(Clone, Serialize, Deserialize, Schema)]
pub struct RetryRequest {
    /// How many attempts fail.
    failures: i64,
    retries: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    backoff: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    jitter: f64,
    /// Marks the failures as not worth another attempt.
    #[serde(default, rename = "final", skip_serializing_if = "std::ops::Not::not")]
    last: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands over a reference
fn is_zero(n: &f64) -> bool {
    *n == 0.0
}

/// Calls an activity that fails a while; its value is the attempt that succeeded.
#[workflow]
pub struct Retry;

#[workflow_impl(activity_groups(Flaky))]
impl Retry {
    async fn execute(&self, request: RetryRequest) -> Result<Seen> {
        let backoff = match request.backoff.as_str() {
            "constant" => Backoff::constant(MILLISECOND),
            _ => Backoff::exponential(MILLISECOND),
        };
        let call = self
            .flaky(request.clone())
            .retries(Self::count(request.retries))
            .backoff(backoff)
            .jitter(request.jitter);
        Ok(seen(call.await))
    }

    fn count(retries: i64) -> u32 {
        retries.try_into().unwrap_or(0)
    }
}

/// Does not handle the error of its activity.
#[workflow]
pub struct Exhaust;

#[workflow_impl(activity_groups(Flaky))]
impl Exhaust {
    async fn execute(&self, request: RetryRequest) -> Result<i64> {
        let retries = Retry::count(request.retries);
        self.flaky(request)
            .retries(retries)
            .backoff(Backoff::constant(MILLISECOND))
            .await
    }
}

#[activity_group]
pub struct Flaky;

#[activity_group_impl]
impl Flaky {
    #[activity(name = "flaky")]
    async fn flaky(&self, request: RetryRequest) -> Result<i64> {
        if i64::from(self.attempt()) > request.failures {
            return Ok(self.attempt().into());
        }
        let e = cruster::err!("flaky", "attempt {} failed", self.attempt());
        Err(if request.last { e.non_retryable() } else { e })
    }
}

/// Tells whether the attempts of one step share an idempotency key, and whether two steps do not.
#[workflow]
pub struct Idempotent;

#[workflow_impl]
impl Idempotent {
    async fn execute(&self, _request: cruster::Empty) -> Result<BTreeMap<String, bool>> {
        let failed = self
            .tell_key(2)
            .retries(1)
            .backoff(Backoff::constant(MILLISECOND))
            .await;
        let first: Vec<String> = failed.err().and_then(|e| e.details()).unwrap_or_default();
        let second = self.tell_key(0).await.unwrap_or_default();
        let third = self.tell_key(0).await.unwrap_or_default();
        let same = first.len() == 2 && first[0] == first[1] && !first[0].is_empty();
        let differ = second != third && first.len() == 2 && second != first[0];
        Ok([("failed with its key", same), ("steps differ", differ)]
            .map(|(what, is)| (what.to_owned(), is))
            .into())
    }

    #[activity(name = "tellKey")]
    async fn tell_key(&self, failures: i64) -> Result<String> {
        // It would survive an attempt only if instances were shared.
        static LAST_KEY: OnceLock<String> = OnceLock::new();
        if LAST_KEY.set(self.idempotency_key().to_owned()).is_err() {
            return Err(Error::new("leak", "the instance was used before").non_retryable());
        }
        let key = self.idempotency_key().to_owned();
        if i64::from(self.attempt()) <= failures {
            return Err(Error::new("keyed", "failed").with_details(&[LAST_KEY.get(), Some(&key)]));
        }
        Ok(key)
    }
}

/// Tells whether an activity knows when its attempt ends.
#[workflow]
pub struct Deadline;

#[workflow_impl]
impl Deadline {
    async fn execute(&self, _request: cruster::Empty) -> Result<bool> {
        self.know().timeout(HOUR).await
    }

    #[activity(name = "deadline")]
    async fn know(&self) -> Result<bool> {
        let left = self.deadline().duration_since(self.now());
        Ok(left > HOUR / 2 && left <= HOUR)
    }
}

/// Calls an activity that blocks; if so asked only its first attempt does.
#[workflow]
pub struct Block;

#[workflow_impl(activity_groups(Blocking))]
impl Block {
    async fn execute(&self, once: bool) -> Result<Seen> {
        let call = self.block(once).backoff(Backoff::constant(MILLISECOND));
        if once {
            let n = call.timeout(Duration::from_secs(1)).retries(20).await;
            return Ok(seen(n.map(|n| n > 1)));
        }
        Ok(seen(
            call.timeout(30 * MILLISECOND).retries(1).await.map(|_| ()),
        ))
    }
}

#[activity_group]
pub struct Blocking;

#[activity_group_impl]
impl Blocking {
    #[activity(name = "block")]
    async fn block(&self, once: bool) -> Result<i64> {
        if !once || self.attempt() == 1 {
            std::thread::sleep(HOUR);
        }
        Ok(self.attempt().into())
    }
}

/// Calls an activity that does not survive.
#[workflow]
pub struct Crash;

#[workflow_impl]
impl Crash {
    async fn execute(&self, how: String) -> Result<Seen> {
        let timeout = if how == "loop" {
            100 * MILLISECOND
        } else {
            Duration::from_secs(60)
        };
        let call = self
            .crash(how)
            .timeout(timeout)
            .retries(1)
            .backoff(Backoff::constant(MILLISECOND));
        Ok(seen(call.await))
    }

    #[activity]
    async fn crash(&self, how: String) -> Result<i64> {
        match (how.as_str(), self.attempt()) {
            ("panic", _) => panic!("told to"),
            ("panic once", 1) => panic!("told to, once"),
            ("exit", _) => std::process::exit(3),
            ("loop", _) => spin(),
            ("hog", _) => hog(),
            ("recurse", _) => Ok(deeper(1)),
            ("abort", _) => std::process::abort(),
            ("index", _) => Ok(how.as_bytes()[how.len()..][0].into()),
            ("wait", _) => std::future::pending().await,
            (_, attempt) => Ok(attempt.into()),
        }
    }
}

/// Goes on for ever.
pub fn spin() -> ! {
    let mut n = 0u64;
    loop {
        n = black_box(n + 1);
    }
}

/// Takes all memory and gives none back.
pub fn hog() -> ! {
    loop {
        black_box(Vec::leak(vec![1u8; 1 << 20]));
    }
}

/// Has large frames, so that the stack is used up soon.
#[inline(never)]
#[allow(unconditional_recursion, clippy::only_used_in_recursion)] // that is the point
pub fn deeper(n: usize) -> i64 {
    let mut frame = [0u8; 8 << 10];
    frame[n % frame.len()] = 1;
    if black_box(n) == 0 {
        return 0;
    }
    deeper(n + 1) + i64::from(black_box(&mut frame)[0])
}
