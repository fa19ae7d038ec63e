//! Which calls are repeated, and for how long.

use std::cell::Cell;

use super::*;
use crate::options::KEEP_ALIVE;
use crate::proto;

/// A cluster without a host: nothing listens at its address.
fn nowhere(retry_for: Duration) -> Cluster {
    Cluster::options("127.0.0.1:1", "shop")
        .retry_for(retry_for)
        .connect()
        .expect("an address")
}

/// How often a call was made, whose first attempts fail with a status, and how it ended.
async fn attempts(
    cluster: &Cluster,
    repeat: Repeat,
    failures: usize,
    status: impl Fn() -> Status,
) -> (usize, Vec<bool>, Result<u8>) {
    let (made, marks) = (Cell::new(0), std::cell::RefCell::new(Vec::new()));
    let outcome = cluster.call(repeat, |attempt| {
        made.set(made.get() + 1);
        marks.borrow_mut().push(attempt.again);
        let failure = (made.get() <= failures).then(&status);
        async move { failure.map_or(Ok(Response::new(7)), Err) }
    });
    let outcome = outcome.await;
    (made.get(), marks.into_inner(), outcome)
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn a_lost_call_is_repeated_and_marked() {
    let lost = || Status::unavailable("gone");
    for retry_for in [LONG, Duration::MAX] {
        let (made, marks, outcome) = attempts(&nowhere(retry_for), Repeat::Yes, 1, lost).await;
        assert_eq!((made, marks, outcome.ok()), (2, vec![false, true], Some(7)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_must_not_be_repeated_is_not() {
    let lost = || Status::unavailable("gone");
    let (made, _, outcome) = attempts(&nowhere(LONG), Repeat::No, 1, lost).await;
    assert_eq!(made, 1);
    assert_eq!(outcome.expect_err("no host answers").code(), "CR-5010");
}

/// A call that has not left can be made again, whatever it is.
#[tokio::test]
async fn a_call_that_found_no_connection_is_repeated() {
    let cluster = nowhere(FOREVER);
    let marks = std::cell::RefCell::new(Vec::new());
    let outcome = cluster.call(Repeat::No, |attempt| {
        marks.borrow_mut().push(attempt.again);
        let done = marks.borrow().len() == 3;
        let mut deferreds = cluster.deferreds();
        async move {
            match done {
                true => Ok(Response::new(proto::ResolveDeferredResponse {})),
                false => {
                    deferreds
                        .resolve_deferred(proto::ResolveDeferredRequest::default())
                        .await
                }
            }
        }
    });
    assert!(outcome.await.is_ok());
    assert_eq!(marks.into_inner(), [false, false, false]);
}

#[tokio::test(start_paused = true)]
async fn what_a_host_refuses_is_not_repeated() {
    let refused = || Status::invalid_argument("no");
    let (made, _, outcome) = attempts(&nowhere(LONG), Repeat::Yes, 1, refused).await;
    assert_eq!(made, 1);
    assert_eq!(outcome.expect_err("it is refused").code(), "CR-2015");
}

#[tokio::test(start_paused = true)]
async fn repetitions_have_a_budget() {
    let lost = || Status::unavailable("gone");
    let (made, _, outcome) = attempts(&nowhere(Duration::ZERO), Repeat::Yes, 1, lost).await;
    assert_eq!((made, outcome.is_err()), (1, true));
    let hurried = nowhere(LONG).with_timeout(Duration::from_millis(1));
    let (made, _, outcome) = attempts(&hurried, Repeat::Yes, 1, lost).await;
    assert_eq!((made, outcome.is_err()), (1, true));
}

/// The caller of a request without a connection by the deadline learns that it was not sent.
#[tokio::test(start_paused = true)]
async fn a_deadline_says_what_has_left() {
    for timeout in [Duration::ZERO, Duration::from_millis(1)] {
        let hurried = nowhere(LONG).with_timeout(timeout);
        let (made, _, outcome) = attempts(&hurried, Repeat::No, 1, refused).await;
        let error = outcome.expect_err("the deadline passes");
        assert_eq!((made, error.code()), (1, "CR-5010"));
        assert!(error.message().ends_with("; it was not sent"), "{error}");
    }
    let late = nowhere(LONG).with_timeout(Duration::ZERO);
    let (_, _, outcome) = attempts(&late, Repeat::Yes, 1, gone).await;
    assert_eq!(outcome.expect_err("it may have left").code(), "CR-5008");
}

/// How a call ends whose attempts take some time and then fail, and its virtual time. A later
/// attempt is answered.
async fn attempts_that_take(
    retry_for: Duration,
    failures: impl IntoIterator<Item = (Duration, Status)>,
) -> (Result<u8>, Duration) {
    let cluster = nowhere(retry_for);
    let failures = std::cell::RefCell::new(failures.into_iter());
    let begun = Instant::now();
    let outcome = cluster.call(Repeat::Yes, |_| {
        let failure = failures.borrow_mut().next();
        async move {
            let Some((time, status)) = failure else {
                return Ok(Response::new(7));
            };
            tokio::time::sleep(time).await;
            Err(status)
        }
    });
    (outcome.await, begun.elapsed())
}

fn gone() -> Status {
    Status::unavailable("gone")
}

/// The transport's status if there is no connection.
fn refused() -> Status {
    let error = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    Status::from_error(Box::new(tonic::ConnectError(Box::new(error))))
}

/// The transport's status if nothing has come from the host since the last keep-alive.
fn silent() -> Status {
    let mut status = gone();
    status.set_source(std::sync::Arc::new(std::io::Error::other("timed out")));
    status
}

const SHORT: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_call_that_a_host_had_for_long_has_the_whole_budget() {
    for status in [gone, silent] {
        let had = 60 * SHORT;
        let restarts = (0..20).map(|_| (had, status()));
        let (outcome, time) = attempts_that_take(SHORT, restarts).await;
        assert_eq!(outcome.ok(), Some(7));
        assert!(time >= 20 * had);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_never_takes_a_call_is_given_up() {
    let at_once = std::iter::repeat_with(|| (Duration::ZERO, gone()));
    let (outcome, time) = attempts_that_take(LONG, at_once).await;
    assert_eq!(outcome.expect_err("it is given up").code(), "CR-5010");
    assert!(time >= LONG && time < LONG + FIRST_BACKOFF, "{time:?}");
}

#[tokio::test(start_paused = true)]
async fn refusals_after_a_while_give_nothing_back() {
    for millis in [10, 100, 5000] {
        let takes = Duration::from_millis(millis);
        let refusals = std::iter::repeat_with(|| (takes, gone()));
        let (outcome, time) = attempts_that_take(LONG, refusals).await;
        assert_eq!(outcome.expect_err("it is given up").code(), "CR-5010");
        assert!(time <= LONG + 2 * takes + FIRST_BACKOFF, "{time:?}");
    }
}

/// The time that a connection takes which is not made, and that in which nothing comes from a
/// host, is time without one.
#[tokio::test(start_paused = true)]
async fn attempts_without_a_host_give_nothing_back() {
    for (takes, status) in [
        (Duration::from_secs(5), refused as fn() -> Status),
        (2 * KEEP_ALIVE, silent),
    ] {
        let attempts = std::iter::repeat_with(|| (takes, status()));
        let (outcome, time) = attempts_that_take(LONG, attempts).await;
        assert_eq!(outcome.expect_err("it is given up").code(), "CR-5010");
        assert!(time <= takes + LONG + takes, "{time:?}");
    }
}
