//! Repeats calls, and makes an [`Error`] of every failure.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Code, Request, Response, Status};

use crate::cluster::Cluster;
use crate::error::{Error, Result, lost, retry_delay, unsent};

const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// Whether a call may be made again when it is not known whether the first one arrived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It only looks, or the host knows it again by its key or its request id.
    Yes,
    /// A second one would be refused because of the first.
    No,
}

/// One attempt of a call.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    cluster: &'a Cluster,
    deadline: Option<Instant>,
    /// The call was made before, and may have arrived.
    pub(crate) again: bool,
}

impl Attempt<'_> {
    /// The request with what each call carries.
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
        let deadline = self.timeout.map(|time| Instant::now() + time);
        // Of repetitions: the budget starts with the first failure.
        let mut budget: Option<Instant> = None;
        let mut attempt = Attempt {
            cluster: self,
            deadline,
            again: false,
        };
        let mut backoff = FIRST_BACKOFF;
        loop {
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
            let Some(delay) = delay(&status, repeat, backoff) else {
                return Err(Error::from_status(&status));
            };
            let next = Instant::now() + delay;
            let end = *budget.get_or_insert(Instant::now() + self.shared.retry_for);
            if deadline.is_some_and(|deadline| next > deadline) && never_left {
                return Err(Error::never_left(&status));
            }
            if next > end || deadline.is_some_and(|deadline| next > deadline) {
                return Err(Error::from_status(&status));
            }
            sleep(delay).await;
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
