//! Repeats calls, and makes an [`Error`] of every failure.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};
use tonic::{Code, Request, Response, Status};

use crate::cluster::Cluster;
use crate::error::{Error, Result, lost, retry_delay, silent, unsent};
use crate::options::KEEP_ALIVE;

const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(2);
/// Longer than anyone waits, and short enough to be added to a point in time.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Whether a call may be made again when it is not known whether the first one arrived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It only looks, or the host knows it again by its key or its request id.
    Yes,
    /// A second one would be refused because of the first.
    No,
}

/// One attempt of a call, or of several that are one for the caller: they have a deadline together.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    cluster: &'a Cluster,
    deadline: Option<Instant>,
    /// The call was made before, and may have arrived.
    pub(crate) again: bool,
}

impl Attempt<'_> {
    /// The request with the metadata of each call.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(deadline) = self.deadline {
            request.set_timeout(deadline.saturating_duration_since(Instant::now()));
        }
        if let Some(token) = &self.cluster.shared.token {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        request
    }
}

/// How long an attempt has to take for it to be known that a host had the call. A host, or a proxy
/// in front of it, that can do nothing with a call says so sooner.
const HAD_BY_HOST: Duration = Duration::from_secs(10);

/// Bounds how long one call is without a host. When a host has had the call, it is whole again: a
/// call that waits for long outlives any number of restarts, and a refused call, at once or
/// after a while, does not.
struct Budget {
    whole: Duration,
    /// Unknown before the first failure.
    end: Option<Instant>,
}

impl Budget {
    /// Begins with the first failure. Each is told for how long a host may have had the call before
    /// it. Returns when the budget ends, and whether it is whole.
    fn fail(&mut self, with_host: Duration) -> (Instant, bool) {
        let whole = self.end.is_none() || with_host >= HAD_BY_HOST;
        if whole {
            self.end = Some(Instant::now() + self.whole);
        }
        (self.end.unwrap_or_else(Instant::now), whole)
    }
}

/// For how long a host may have had a call that took some time and was lost.
fn with_host(status: &Status, took: Duration) -> Duration {
    if !lost(status) || unsent(status) {
        return Duration::ZERO;
    }
    match silent(status) {
        // A connection is idle for a while before it is tried, and the answer may come late.
        true => took.saturating_sub(2 * KEEP_ALIVE),
        false => took,
    }
}

impl Cluster {
    /// Makes a call, and repeats it while no host answers or the host is full.
    pub(crate) async fn call<'a, T, F>(
        &'a self,
        repeat: Repeat,
        call: impl Fn(Attempt<'a>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        self.first_attempt().call(repeat, call).await
    }

    /// The first attempt. The time of the caller begins with it.
    pub(crate) fn first_attempt(&self) -> Attempt<'_> {
        Attempt {
            cluster: self,
            deadline: self.timeout.map(|time| Instant::now() + time),
            again: false,
        }
    }
}

impl<'a> Attempt<'a> {
    /// Makes a call, and repeats it while no host answers or the host is full.
    pub(crate) async fn call<T, F>(
        self,
        repeat: Repeat,
        call: impl Fn(Attempt<'a>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let mut attempt = self;
        let deadline = attempt.deadline;
        let mut budget = Budget {
            whole: attempt.cluster.shared.retry_for.min(FOREVER),
            end: None,
        };
        let mut backoff = FIRST_BACKOFF;
        loop {
            let begun = Instant::now();
            let status = match within(deadline, call(attempt)).await? {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) => status,
            };
            attempt.again |= lost(&status) && !unsent(&status);
            let never_left = unsent(&status) && !attempt.again;
            // A host gives up at the deadline as well, and may end the call first.
            if lost(&status) && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(match never_left {
                    true => Error::never_left(&status),
                    false => Error::late(),
                });
            }
            let (end, whole) = budget.fail(with_host(&status, begun.elapsed()));
            if whole {
                backoff = FIRST_BACKOFF;
            }
            let Some(delay) = delay(&status, repeat, backoff) else {
                return Err(Error::from_status(&status));
            };
            let now = Instant::now();
            // The last attempt is at the end of the budget, unless the host has named a delay
            // beyond it.
            let next = match lost(&status) {
                true => end.min(now + delay),
                false => now + delay,
            };
            if deadline.is_some_and(|deadline| next > deadline) && never_left {
                return Err(Error::never_left(&status));
            }
            if now >= end || next > end || deadline.is_some_and(|deadline| next > deadline) {
                return Err(Error::from_status(&status));
            }
            sleep_until(next).await;
            backoff = MAX_BACKOFF.min(2 * backoff);
        }
    }
}

async fn within<F: Future>(deadline: Option<Instant>, call: F) -> Result<F::Output> {
    match deadline {
        None => Ok(call.await),
        Some(deadline) => timeout_at(deadline, call).await.map_err(|_| Error::late()),
    }
}

/// When to make a call again, if it may be. A host that names a delay did nothing else with the
/// call, so that any call may be repeated after it.
fn delay(status: &Status, repeat: Repeat, backoff: Duration) -> Option<Duration> {
    if status.code() == Code::ResourceExhausted {
        // All callers of a full host get the same delay: spread them.
        return Some(retry_delay(status)? + backoff.mul_f64(rand::random()));
    }
    let again = match repeat {
        Repeat::Yes => lost(status),
        Repeat::No => unsent(status),
    };
    again.then(|| backoff.mul_f64(0.5 + rand::random::<f64>()))
}

#[cfg(test)]
#[path = "retry_test.rs"]
mod retry_test;
