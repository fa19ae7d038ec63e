//! Signals: in order, each once, in whatever way a workflow waits for them.

use std::future::pending;

use cruster::prelude::*;
use cruster::testing::{Finished, Test};
use cruster::wire::SignalInfo;
use cruster::{Value, first, join_all};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Schema, Signal)]
pub struct Paid {
    cents: u64,
}

#[derive(Serialize, Deserialize, Schema, Signal)]
#[signal(name = "note.added")]
pub struct Note(String);

/// A signal that no workflow accepts.
#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Unknown;

/// Has the name of another signal, and another type.
#[derive(Serialize, Deserialize, Schema, Signal)]
#[signal(name = "paid")]
pub struct PaidInWords(String);

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn paid(cents: u64) -> Paid {
    Paid { cents }
}

#[workflow]
pub struct Invoice;

#[workflow_impl(signals(Paid, Note), key = |case: &String| case.clone(), hash = false)]
impl Invoice {
    async fn execute(&self, case: String) -> Result<Vec<u64>, Error> {
        match case.as_str() {
            "three" => self.receive_n(3).await,
            "timeouts" => self.timeouts().await,
            "kept" => self.kept().await,
            "queue" => self.queue().await,
            "first" => self.first().await,
            "shielded" => self.shielded().await,
            "abandoned" => self.abandoned().await,
            "joined" => self.joined().await,
            "too late" => {
                let _ = self.timeout(seconds(1), self.receive::<Paid>()).await;
                self.sleep(seconds(9)).await?;
                Ok(Vec::new())
            }
            "fail" => cruster::bail!("declined", "the card was declined"),
            _ => Ok(vec![self.receive::<Note>().await?.0.len() as u64]),
        }
    }

    async fn receive_n(&self, n: usize) -> Result<Vec<u64>, Error> {
        let mut all = Vec::new();
        for _ in 0..n {
            all.push(self.receive::<Paid>().await?.cents);
        }
        Ok(all)
    }

    /// Counts the timeouts before three signals.
    async fn timeouts(&self) -> Result<Vec<u64>, Error> {
        let (mut all, mut passed) = (Vec::new(), 0);
        while all.len() < 3 {
            match self.timeout(seconds(2), self.receive::<Paid>()).await {
                Ok(paid) => all.push(paid.cents),
                Err(e) if e.is_timeout() => passed += 1,
                Err(e) => return Err(e),
            }
        }
        all.push(passed);
        Ok(all)
    }

    /// The timer comes first, and the signal at the same time.
    async fn kept(&self) -> Result<Vec<u64>, Error> {
        let mut timer = self.sleep(seconds(5));
        let late = cruster::select! {
            slept = &mut timer => { slept?; 1 }
            paid = self.receive::<Paid>() => paid?.cents
        };
        self.sleep(seconds(5)).await?;
        Ok(vec![late, self.receive::<Paid>().await?.cents])
    }

    /// The second of three futures goes away; the others keep their places.
    async fn queue(&self) -> Result<Vec<u64>, Error> {
        let task = |limit: u64| {
            let this = self.clone();
            self.spawn(async move {
                let received = this.timeout(seconds(limit), this.receive::<Paid>()).await;
                Ok(received.map_or(0, |paid| paid.cents))
            })
        };
        join_all([task(9), task(1), task(9)]).await
    }

    async fn first(&self) -> Result<Vec<u64>, Error> {
        let mut both = [self.receive::<Paid>(), self.receive::<Paid>()];
        let (i, one) = first(both.iter_mut()).await?;
        let [_, two] = both;
        Ok(vec![i as u64, one.cents, two.await?.cents])
    }

    async fn shielded(&self) -> Result<Vec<u64>, Error> {
        let e = self.receive::<Paid>().await.unwrap_err();
        assert!(e.is_interrupted());
        let again = self.receive::<Paid>().await.unwrap_err();
        assert!(again.is_interrupted(), "no op is issued after an interrupt");
        Ok(vec![self.shield(self.receive::<Paid>()).await?.cents])
    }

    /// No future waits for the signal any more, and nothing else is open.
    async fn abandoned(&self) -> Result<Vec<u64>, Error> {
        let late = self.timeout(seconds(1), self.receive::<Paid>()).await;
        assert!(late.unwrap_err().is_timeout());
        self.spawn(pending::<Result<Vec<u64>>>()).await
    }

    async fn joined(&self) -> Result<Vec<u64>, Error> {
        let (paid, note) = cruster::join!(self.receive::<Paid>(), self.receive::<Note>()).await?;
        Ok(vec![paid.cents, note.0.len() as u64])
    }
}

/// Sends signals to an invoice.
#[workflow]
pub struct Payer;

#[workflow_impl]
impl Payer {
    async fn execute(&self, case: String) -> Result<String, Error> {
        let id = Invoice::client(self).start(case.clone()).await?;
        match case.as_str() {
            "three" => {
                for cents in 1..=3 {
                    self.signal(&id, paid(cents)).await?;
                }
                let all = Invoice::client(self).execute(case).await?;
                Ok(format!("{all:?}"))
            }
            "fail" => {
                self.sleep(seconds(1)).await?;
                self.refused(self.signal(&id, paid(1)).await)
            }
            "unknown" => self.refused(self.signal(&id, Unknown).await),
            "type" => self.refused(self.signal(&id, PaidInWords("one".to_owned())).await),
            "missing" => self.refused(self.signal("test/Invoice/absent", paid(1)).await),
            _ => {
                // More than the invoice reads, which waits for a note.
                for cents in 0..10_000 {
                    self.signal(&id, paid(cents)).await?;
                }
                self.refused(self.signal(&id, paid(1)).await)
            }
        }
    }

    fn refused(&self, sent: Result<()>) -> Result<String, Error> {
        let e = sent.unwrap_err();
        Ok(format!("{} {}", e.code(), e.message()))
    }
}

cruster::module! { workflows: [Invoice, Payer] }

#[workflow]
pub struct TwoOfOneName;

#[workflow_impl(signals(Paid, PaidInWords))]
impl TwoOfOneName {
    async fn execute(&self, _: ()) -> Result<(), Error> {
        Ok(())
    }
}

fn invoice(case: &str, test: impl FnOnce(Test) -> Test) -> Finished<Vec<u64>> {
    let run = test(Test::new(&MODULE)).run::<Invoice>(case.to_owned());
    run.history.replay().unwrap();
    run
}

fn payer(case: &str) -> String {
    let run = Test::new(&MODULE).run::<Payer>(case.to_owned());
    run.history.replay().unwrap();
    run.result.unwrap()
}

#[test]
fn the_manifest_has_them_sorted() {
    let workflows = MODULE.manifest().workflows.unwrap();
    let names = |i: usize| -> Vec<String> {
        let signals = workflows[i].signals.iter().flatten();
        signals
            .map(|s| s.body::<SignalInfo>().unwrap().name)
            .collect()
    };
    assert_eq!(names(0), ["note.added", "paid"]);
    assert_eq!(names(1), [""; 0]);
}

#[test]
fn they_come_in_the_order_in_which_they_were_sent() {
    let run = invoice("three", |test| {
        test.signal_after(seconds(3), paid(3))
            .signal(paid(1))
            .signal_after(seconds(2), paid(2))
            .signal_after(seconds(2), Note("unread".to_owned()))
            .signal_after(seconds(9), paid(4))
    });
    assert_eq!(run.result.unwrap(), [1, 2, 3]);
    assert_eq!(run.history.steps(), ["receive paid"; 3]);
    let unread: Vec<String> = run.unread.iter().map(|s| s.name.clone()).collect();
    assert_eq!(unread, ["note.added"]);
    assert_eq!(run.unread[0].value, Value::from("unread"));
}

#[test]
fn a_future_that_gives_up_loses_none() {
    let run = invoice("timeouts", |test| {
        test.signal_after(seconds(5), paid(1))
            .signal_after(seconds(5), paid(2))
            .signal_after(seconds(12), paid(3))
    });
    assert_eq!(run.result.unwrap(), [1, 2, 3, 5]);
    // The op of a wait that gave up serves the next one.
    let steps = run.history.steps();
    assert_eq!(steps.iter().filter(|s| *s == "receive paid").count(), 3);

    let run = invoice("kept", |test| test.signal_after(seconds(5), paid(7)));
    assert_eq!(run.result.unwrap(), [1, 7]);
    assert!(run.unread.is_empty());
}

#[test]
fn what_came_too_late_is_unread() {
    let run = invoice("too late", |test| {
        test.signal_after(seconds(2), paid(1))
            .signal_after(seconds(3), paid(2))
    });
    assert_eq!(run.result.unwrap(), []);
    let cents: Vec<Value> = run.unread.into_iter().map(|s| s.value).collect();
    let unread = |cents: u64| Value::Map(vec![("cents".into(), cents.into())]);
    assert_eq!(cents, [unread(1), unread(2)]);
}

#[test]
fn futures_get_them_in_the_order_in_which_they_asked() {
    let run = invoice("queue", |test| {
        test.signal_after(seconds(2), paid(1))
            .signal_after(seconds(3), paid(2))
    });
    assert_eq!(run.result.unwrap(), [1, 0, 2]);

    let run = invoice("first", |test| test.signal(paid(1)).signal(paid(2)));
    assert_eq!(run.result.unwrap(), [0, 1, 2]);

    let run = invoice("joined", |test| {
        test.signal(Note("four".to_owned()))
            .signal_after(seconds(1), paid(5))
    });
    assert_eq!(run.result.unwrap(), [5, 4]);
}

#[test]
fn an_interrupt_ends_the_wait_unless_it_is_shielded() {
    let run = invoice("shielded", |test| {
        test.interrupt_after(seconds(1), "enough")
            .signal_after(seconds(2), paid(9))
    });
    assert_eq!(run.result.unwrap(), [9]);
    assert_eq!(run.history.steps(), ["receive paid"]);

    let run = invoice("three", |test| test.interrupt_after(seconds(1), "enough"));
    assert!(run.result.unwrap_err().is_interrupted());
}

#[test]
fn a_wait_that_was_given_up_does_not_hide_a_deadlock() {
    let run = invoice("abandoned", |test| test);
    assert_eq!(run.result.unwrap_err().code(), "CR-4012");
}

#[test]
fn workflows_signal_each_other() {
    assert_eq!(payer("three"), "[1, 2, 3]");
}

#[test]
fn the_refusals_of_a_host() {
    assert_eq!(payer("fail"), "CR-2012 test/Invoice/fail is failed");
    assert_eq!(
        payer("unknown"),
        "CR-2033 workflow Invoice has no signal \"unknown\""
    );
    assert_eq!(payer("type"), "CR-2002 expected struct, got string");
    assert_eq!(
        payer("missing"),
        "CR-2004 there is no execution \"test/Invoice/absent\""
    );
    assert_eq!(
        payer("full"),
        "CR-2034 test/Invoice/full has 10000 messages, or 64 MiB of them, that it has not received or answered yet"
    );
}

#[test]
#[should_panic(expected = "the test sends the signal unknown: CR-2033")]
fn a_test_that_sends_what_no_workflow_accepts_is_mistaken() {
    let _ = invoice("three", |test| test.signal(Unknown));
}

#[test]
#[should_panic(expected = "the workflow `TwoOfOneName` has two signals named `paid`")]
fn the_signals_of_a_workflow_have_distinct_names() {
    let definition = &<TwoOfOneName as cruster::Workflow>::DEFINITION;
    let _ = cruster::Module::new(Box::leak(Box::new([definition])), &[], &[], &[], &[]);
}
