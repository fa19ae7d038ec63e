//! All futures of a list, with a limit on how many are under way.

use std::future::{Future, Pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::error::{Error, Result};

/// Waits for all futures of a list, at the same time, and yields their results in its order.
///
/// As [`join!`](crate::join) does, it waits for all of them even if one fails; the error is the
/// first in the order of the list. [`try_join_all`] ends with the first failure.
///
/// ```
/// # use cruster::prelude::*;
/// use cruster::join_all;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// async fn execute(&self, urls: Vec<String>) -> Result<u64, Error> {
///     // At most ten at a time.
///     let sizes = join_all(urls.iter().map(|url| self.fetch(url.clone()))).limit(10).await?;
///     // The sizes that are there after a minute.
///     let minute = self.sleep(Duration::from_secs(60));
///     let again = join_all(urls.into_iter().map(|url| self.fetch(url))).limit(10).settled_by(minute).await;
///     Ok(sizes.into_iter().chain(again.into_iter().flatten()).sum())
/// }
/// # #[activity]
/// # async fn fetch(&self, url: String) -> Result<u64, Error> {
/// #     Ok(url.len() as u64)
/// # }
/// # }
/// ```
pub fn join_all<T, F>(futures: impl IntoIterator<Item = F>) -> JoinAll<F>
where
    F: Future<Output = Result<T>>,
{
    JoinAll(All::new(futures))
}

/// [`join_all`] that ends with the first failure: it yields the error, and drops the other
/// futures, which cancels their durable calls.
pub fn try_join_all<T, F>(futures: impl IntoIterator<Item = F>) -> TryJoinAll<F>
where
    F: Future<Output = Result<T>>,
{
    TryJoinAll(All::new(futures))
}

/// The results of all futures of a list; see [`join_all`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct JoinAll<F: Future>(All<F>);

/// The results of all futures of a list, or the first error; see [`try_join_all`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct TryJoinAll<F: Future>(All<F>);

/// The result of each future of a list; see [`JoinAll::settled`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct Settle<F: Future, D = Pending<Result<()>>> {
    all: All<F>,
    deadline: Option<Pin<Box<D>>>,
}

impl<T, F: Future<Output = Result<T>>> JoinAll<F> {
    /// Has at most `n` futures under way at the same time. They begin in the order of the list, the
    /// next when another is done.
    ///
    /// # Panics
    ///
    /// If `n` is 0: nothing would ever be done.
    pub fn limit(mut self, n: usize) -> Self {
        self.0.set_limit(n);
        self
    }

    /// Yields the result of each future, regardless of the others.
    pub fn settled(self) -> Settle<F> {
        Settle {
            all: self.0,
            deadline: None,
        }
    }

    /// Yields the results so far at a deadline, which is a [sleep](crate::WorkflowContext::sleep)
    /// or something else to wait for. It begins first. Futures that are not done by then are
    /// dropped, which cancels their durable calls, and have [`Error::timeout`].
    pub fn settled_by<D: Future<Output = Result<()>>>(self, deadline: D) -> Settle<F, D> {
        Settle {
            all: self.0,
            deadline: Some(Box::pin(deadline)),
        }
    }
}

impl<T, F: Future<Output = Result<T>>> TryJoinAll<F> {
    /// Has at most `n` futures under way at the same time: see [`JoinAll::limit`].
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    pub fn limit(mut self, n: usize) -> Self {
        self.0.set_limit(n);
        self
    }
}

// The futures of a list are boxed, and stay where they are when the list is moved.
impl<F: Future> Unpin for JoinAll<F> {}
impl<F: Future> Unpin for TryJoinAll<F> {}
impl<F: Future, D> Unpin for Settle<F, D> {}

impl<T, F: Future<Output = Result<T>>> Future for JoinAll<F> {
    type Output = Result<Vec<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0.poll(cx, |_| false) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(self.0.take(Error::canceled).collect()),
        }
    }
}

impl<T, F: Future<Output = Result<T>>> Future for TryJoinAll<F> {
    type Output = Result<Vec<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let failed = match self.0.poll(cx, Result::is_err) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(failed) => failed,
        };
        let mut results = self.0.take(Error::canceled);
        Poll::Ready(match failed {
            Some(at) => results.nth(at).into_iter().collect(),
            None => results.collect(),
        })
    }
}

impl<T, F, D> Future for Settle<F, D>
where
    F: Future<Output = Result<T>>,
    D: Future<Output = Result<()>>,
{
    type Output = Vec<Result<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let first = this.all.begun == 0;
        let mut over = if first { this.over(cx) } else { None };
        if over.is_none() {
            match this.all.poll(cx, |_| false) {
                Poll::Ready(_) => over = Some(Error::canceled),
                // It was polled before, and wakes the task when it fires.
                Poll::Pending if first => return Poll::Pending,
                Poll::Pending => over = this.over(cx),
            }
        }
        let Some(open) = over else {
            return Poll::Pending;
        };
        let results = this.all.take(open).collect();
        this.deadline = None;
        Poll::Ready(results)
    }
}

impl<F: Future, D: Future<Output = Result<()>>> Settle<F, D> {
    /// The error of the open ones, if the deadline has passed.
    fn over(&mut self, cx: &mut Context<'_>) -> Option<fn() -> Error> {
        match self.deadline.as_mut()?.as_mut().poll(cx) {
            Poll::Pending => None,
            Poll::Ready(Err(e)) if e.is_interrupted() => Some(Error::interrupted),
            Poll::Ready(_) => Some(Error::timeout),
        }
    }
}

/// One future of a list.
enum Part<F: Future> {
    Open(Pin<Box<F>>),
    Done(F::Output),
}

/// The futures of a list. Futures before `begun` were polled, and at most `limit` of these are
/// open.
struct All<F: Future> {
    parts: Vec<Part<F>>,
    begun: usize,
    open: usize,
    limit: usize,
    woken: Arc<Woken>,
}

impl<F: Future> All<F> {
    fn new(futures: impl IntoIterator<Item = F>) -> Self {
        let parts = futures.into_iter().map(|f| Part::Open(Box::pin(f)));
        All {
            parts: parts.collect(),
            begun: 0,
            open: 0,
            limit: usize::MAX,
            woken: Arc::default(),
        }
    }

    fn set_limit(&mut self, n: usize) {
        assert!(n > 0, "with a limit of 0 nothing would ever be done");
        self.limit = n;
    }

    /// Polls the woken futures, and begins others as far as the limit allows. It is ready when all
    /// are done, or when one is done that `ends` it all: then it yields its index.
    fn poll(&mut self, cx: &Context<'_>, ends: impl Fn(&F::Output) -> bool) -> Poll<Option<usize>> {
        self.woken.report_to(cx.waker());
        // Only the woken ones: a fan-out may be thousands wide. A child that is woken
        // meanwhile waits for the next turn, as other tasks do.
        for at in self.woken.take() {
            if self.poll_part(at, &ends) {
                return Poll::Ready(Some(at));
            }
        }
        while self.begun < self.parts.len() && self.open < self.limit {
            let at = self.begun;
            self.begun += 1;
            self.open += 1;
            if self.poll_part(at, &ends) {
                return Poll::Ready(Some(at));
            }
        }
        if self.open == 0 {
            Poll::Ready(None)
        } else {
            Poll::Pending
        }
    }

    /// Polls a future unless it is done; returns whether its result ends it all.
    fn poll_part(&mut self, at: usize, ends: impl Fn(&F::Output) -> bool) -> bool {
        let Some(Part::Open(future)) = self.parts.get_mut(at) else {
            return false;
        };
        let waker = Waker::from(Arc::new(Child {
            index: at,
            woken: self.woken.clone(),
        }));
        let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) else {
            return false;
        };
        self.open -= 1;
        let ended = ends(&result);
        self.parts[at] = Part::Done(result);
        ended
    }
}

impl<T, F: Future<Output = Result<T>>> All<F> {
    /// Takes the results, in the order of the list. Futures that are open are dropped in that order
    /// too, and have the error `open`.
    fn take(&mut self, open: fn() -> Error) -> impl Iterator<Item = Result<T>> + use<T, F> {
        let parts = std::mem::take(&mut self.parts);
        parts.into_iter().map(move |part| match part {
            Part::Done(result) => result,
            Part::Open(_) => Err(open()),
        })
    }
}

/// The futures of a list that are to be polled, in the order in which they were woken.
#[derive(Default)]
struct Woken(Mutex<(Vec<usize>, Option<Waker>)>);

struct Child {
    index: usize,
    woken: Arc<Woken>,
}

impl Woken {
    fn report_to(&self, waker: &Waker) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(waker.clone());
    }

    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl Wake for Child {
    fn wake(self: Arc<Self>) {
        let mut woken = self.woken.0.lock().unwrap_or_else(PoisonError::into_inner);
        woken.0.push(self.index);
        let parent = woken.1.clone();
        drop(woken);
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}
