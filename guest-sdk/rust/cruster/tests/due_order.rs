//! Due ops are delivered in the order in which they become due, and ops that become due at the
//! same time in the order in which they were issued.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::join_all;
use cruster::prelude::*;
use cruster::testing::Test;

const SIGNAL: Deferred<String> = Deferred::new("signal");

#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Word(String);

#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Other(String);

/// Waits for several things at the same time: "slow", "signal", "word", "other", or as many
/// seconds. Returns the order in which they came.
#[workflow]
pub struct DueOrder;

#[workflow_impl(deferreds(SIGNAL), signals(Word, Other))]
impl DueOrder {
    async fn execute(&self, waits: Vec<String>) -> Result<Vec<String>> {
        let order = Rc::new(RefCell::new(Vec::new()));
        let wait = |what: String| {
            let (this, order) = (self.clone(), order.clone());
            self.spawn(async move {
                match what.as_str() {
                    "slow" => drop(this.slow(1).await?),
                    "signal" => drop(this.await_deferred(SIGNAL).await?),
                    "word" => drop(this.receive::<Word>().await?),
                    "other" => drop(this.receive::<Other>().await?),
                    seconds => this.sleep(Duration::from_secs(seconds.parse()?)).await?,
                }
                order.borrow_mut().push(what);
                Ok(())
            })
        };
        join_all(waits.into_iter().map(wait).collect::<Vec<_>>()).await?;
        Ok(order.take())
    }

    #[activity]
    async fn slow(&self, n: i64) -> Result<i64> {
        Ok(n)
    }
}

/// Sleeps for a second, in a task, and waits for that as long as it is told.
#[workflow]
pub struct Raced;

#[workflow_impl]
impl Raced {
    async fn execute(&self, milliseconds: u64) -> Result<String> {
        let slept = self.spawn(self.sleep(Duration::from_secs(1)));
        self.timeout(Duration::from_millis(milliseconds), slept)
            .await?;
        Ok("slept".to_owned())
    }
}

cruster::module! { workflows: [DueOrder, Raced] }

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[track_caller]
fn check(test: Test, waits: &[&str], want: &[&str]) {
    let finished = test.run::<DueOrder>(waits.iter().map(ToString::to_string).collect());
    assert_eq!(finished.result.unwrap(), want);
    finished.history.replay().unwrap();
}

#[test]
fn timers() {
    let test = || Test::new(&MODULE);
    check(test(), &["10", "1", "5"], &["1", "5", "10"]);
    check(test(), &["2", "1", "01", "02"], &["1", "01", "2", "02"]);
}

#[test]
fn an_activity_that_takes_a_minute() {
    let test = || Test::new(&MODULE).takes("slow", seconds(60));
    check(test(), &["120", "slow", "59"], &["59", "slow", "120"]);
    check(test(), &["slow", "60"], &["slow", "60"]);
    check(test(), &["60", "slow"], &["60", "slow"]);
}

/// A host has to do an activity, however short it is; a sleep of no time ends at once.
#[test]
fn an_activity_is_never_there_at_once() {
    check(Test::new(&MODULE), &["slow", "0"], &["0", "slow"]);
}

#[test]
fn a_deferred_settled_between_two_timers() {
    let test = |at| Test::new(&MODULE).resolve_after(seconds(at), SIGNAL, "now".to_owned());
    check(test(30), &["60", "signal", "10"], &["10", "signal", "60"]);
    check(test(10), &["signal", "10"], &["signal", "10"]);
    check(test(10), &["10", "signal"], &["10", "signal"]);
    check(test(0), &["0", "signal"], &["0", "signal"]);
}

#[test]
fn signals_and_timers_of_the_same_time_in_the_order_of_their_issue() {
    let test = |first: bool| {
        let (word, other) = (Word("a".to_owned()), Other("b".to_owned()));
        match first {
            true => Test::new(&MODULE)
                .signal_after(seconds(10), word)
                .signal_after(seconds(10), other),
            false => Test::new(&MODULE)
                .signal_after(seconds(10), other)
                .signal_after(seconds(10), word),
        }
        .resolve_after(seconds(10), SIGNAL, "now".to_owned())
    };
    for first in [true, false] {
        for waits in [
            ["word", "10", "other", "signal"],
            ["10", "signal", "other", "word"],
            ["other", "word", "signal", "10"],
        ] {
            check(test(first), &waits, &waits);
        }
    }
}

#[test]
fn a_signal_from_before_is_due_when_it_is_asked_for() {
    let test = Test::new(&MODULE)
        .signal(Word("a".to_owned()))
        .signal_after(Duration::ZERO, Other("b".to_owned()));
    check(
        test,
        &["0", "other", "word", "1"],
        &["0", "other", "word", "1"],
    );
}

#[test]
fn all_while_the_host_was_away() {
    let test = Test::new(&MODULE)
        .takes("slow", seconds(7))
        .resolve_after(seconds(5), SIGNAL, "now".to_owned())
        .downtime(Duration::from_millis(500), seconds(60));
    // The client reaches the host when it is back.
    check(
        test,
        &["10", "slow", "1", "signal", "120"],
        &["1", "slow", "10", "signal", "120"],
    );
}

#[test]
fn a_timeout_does_not_win_because_the_host_was_away() {
    let away = || Test::new(&MODULE).downtime(Duration::ZERO, seconds(3600));
    let finished = away().run::<Raced>(10_000);
    assert_eq!(finished.result.unwrap(), "slept");
    assert_eq!(finished.history.duration(), seconds(3600));
    let e = away().run::<Raced>(500).result.unwrap_err();
    assert!(e.message().contains("timed out"), "{e}");
}

#[test]
fn an_interrupt_at_the_same_time_comes_first() {
    let finished = Test::new(&MODULE)
        .interrupt_after(seconds(10), "stop")
        .run::<DueOrder>(vec!["10".to_owned()]);
    assert!(finished.result.unwrap_err().is_interrupted());
}
