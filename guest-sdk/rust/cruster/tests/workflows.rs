//! Workflows on the test kit: order of ops, interrupts, tasks, deferreds,
//! children, and the errors that callers see.

use cruster::prelude::*;
use cruster::testing::Test;
use cruster::{JoinHandle, first, join_all};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub const GO: Deferred<String> = Deferred::new("go");
pub const OTHER: Deferred<u32> = Deferred::new("other");

/// Runs the case that its request names, so that each test reads in one place.
#[workflow]
pub struct Script;

#[workflow_impl(deferreds(GO, OTHER))]
impl Script {
    async fn execute(&self, case: String) -> Result<Vec<String>, Error> {
        match case.as_str() {
            "join" => self.join().await,
            "join fails" => self.join_fails().await,
            "join_all" => self.join_many().await,
            "select" => self.select().await,
            "first" => self.first().await,
            "timeout" => self.timeouts().await,
            "spawn" => self.spawning().await,
            "cleanup" => self.cleanup().await,
            "watch" => self.watch().await,
            "stop" => Err(self.sleep(seconds(9)).await.context("waiting").unwrap_err()),
            "settle" => self.settle().await,
            "children" => self.children().await,
            "remote" => self.remote().await,
            "fail" => Err(self.fail(true).await.context("charge").unwrap_err()),
            "fail bare" => Err(self.fail(false).await.unwrap_err()),
            "random" => Ok(vec![
                self.uuid(),
                self.random().range(5..6).to_string(),
                self.now().to_string(),
            ]),
            _ => self.forever().await,
        }
    }

    async fn join(&self) -> Result<Vec<String>, Error> {
        let (a, b) = cruster::join!(self.echo("a".into()), self.add(1, 2)).await?;
        Ok(vec![a, b.to_string()])
    }

    async fn join_fails(&self) -> Result<Vec<String>, Error> {
        // It waits for all. The error is the first one's in the list, not the quickest's.
        let slow = async {
            self.sleep(seconds(2)).await?;
            Err::<(), _>(cruster::err!("slow", "the slow one"))
        };
        let quick = async { Err::<(), _>(cruster::err!("quick", "the quick one")) };
        cruster::join!(slow, quick).await?;
        Ok(vec![])
    }

    async fn join_many(&self) -> Result<Vec<String>, Error> {
        join_all((0..200).map(|n| self.echo(n.to_string()))).await
    }

    async fn select(&self) -> Result<Vec<String>, Error> {
        let mut slow = self.sleep(seconds(5));
        let word = cruster::select! {
            word = self.await_deferred(GO) => word?,
            done = &mut slow => { done?; "slow".to_owned() }
            done = self.sleep(seconds(1)) => {
                done?;
                "quick".to_owned()
            },
        };
        slow.await?;
        Ok(vec![word])
    }

    async fn first(&self) -> Result<Vec<String>, Error> {
        let naps = [3, 1, 2].map(|n| self.sleep(seconds(n)));
        let (index, ()) = first(naps).await?;
        Ok(vec![index.to_string()])
    }

    async fn timeouts(&self) -> Result<Vec<String>, Error> {
        let late = self
            .timeout(seconds(1), self.await_deferred(GO))
            .await
            .unwrap_err();
        let prompt = self.timeout(seconds(1), self.echo("x".into())).await?;
        Ok(vec![late.is_timeout().to_string(), prompt])
    }

    async fn spawning(&self) -> Result<Vec<String>, Error> {
        let task = |name: &'static str, nap: u64| -> JoinHandle<String> {
            let this = self.clone();
            self.spawn(async move {
                this.sleep(seconds(nap)).await?;
                this.echo(name.to_owned()).await
            })
        };
        let (a, b) = (task("a", 2), task("b", 1));
        drop(task("c", 1)); // the task goes on
        cruster::join!(a, b).await.map(|(a, b)| vec![a, b])
    }

    async fn cleanup(&self) -> Result<Vec<String>, Error> {
        let interrupted = cruster::join!(self.sleep(seconds(60)), self.await_deferred(GO))
            .await
            .unwrap_err();
        assert!(interrupted.is_interrupted() && self.interrupted());
        assert_eq!(self.interrupt_reason(), "enough");
        // From here on durable calls are refused, unless they are shielded.
        assert!(self.echo("no".into()).await.unwrap_err().is_interrupted());
        self.shield(async {
            assert!(!self.interrupted());
            self.sleep(seconds(1)).await?;
            self.echo("undo".into()).await
        })
        .await?;
        Err(interrupted)
    }

    async fn watch(&self) -> Result<Vec<String>, Error> {
        let reason = cruster::select! {
            reason = self.on_interrupt() => reason,
            _ = self.sleep(seconds(60)) => "none".to_owned(),
        };
        Ok(vec![reason])
    }

    async fn settle(&self) -> Result<Vec<String>, Error> {
        let mut seen = vec![
            self.resolve_deferred(GO, "mine".to_owned())
                .await?
                .to_string(),
        ];
        seen.push(
            self.resolve_deferred(GO, "again".to_owned())
                .await?
                .to_string(),
        );
        seen.push(self.await_deferred(GO).await?);
        let cause = Error::new("lost", "it is lost").with_details(&7);
        self.reject_deferred(OTHER, cause).await?;
        let e = self.await_deferred(OTHER).await.unwrap_err();
        seen.push(format!(
            "{} {} {:?} {}",
            e.code(),
            e.error_type(),
            e.details::<u32>(),
            e.message()
        ));
        let missing = self
            .resolve_deferred_in("test/Script/none", GO, "x".to_owned())
            .await
            .unwrap_err();
        seen.push(missing.code().to_owned());
        Ok(seen)
    }

    async fn children(&self) -> Result<Vec<String>, Error> {
        let client = Child::client(self);
        let mut seen = vec![client.execute(2).await?.to_string()];
        let failed = client.execute(0).await.context("child").unwrap_err();
        seen.push(format!("{} {failed}", failed.error_type()));
        let id = Child::client(self).with_key_raw("named").start(21).await?;
        seen.push(id.clone());
        seen.push(client.poll(id.clone()).await?.state);
        seen.push(
            Child::client(self)
                .with_key_raw("named")
                .execute(99)
                .await?
                .to_string(),
        );
        let over = client.poll(id).await?;
        seen.push(format!(
            "{} {:?}",
            over.state,
            over.outcome.map(Result::unwrap)
        ));
        Ok(seen)
    }

    async fn remote(&self) -> Result<Vec<String>, Error> {
        let client = cruster::remote::<u32, String>(self, "billing/Invoice");
        Ok(vec![client.execute(3).await?])
    }

    async fn forever(&self) -> Result<Vec<String>, Error> {
        self.await_deferred(GO).await.map(|word| vec![word])
    }

    #[activity]
    async fn echo(&self, text: String) -> Result<String, Error> {
        Ok(text)
    }

    #[activity]
    async fn add(&self, a: i64, b: i64) -> Result<i64, Error> {
        Ok(a + b)
    }

    #[activity(retries = 5)]
    async fn fail(&self, last: bool) -> Result<(), Error> {
        let e = Error::new("declined", "no funds").with_details(&vec!["a"]);
        Err(if last { e.non_retryable() } else { e })
    }
}

#[workflow]
pub struct Child;

#[workflow_impl(key = |n: &u32| *n, hash = true)]
impl Child {
    async fn execute(&self, n: u32) -> Result<u32, Error> {
        self.sleep(seconds(1)).await?;
        if n == 0 {
            cruster::bail!("zero", "there is nothing to double");
        }
        Ok(n * 2)
    }
}

cruster::module! { workflows: [Script, Child] }

fn test() -> Test {
    Test::new(&MODULE)
}

/// Runs a case, and replays its history.
fn run(test: Test, case: &str) -> (Result<Vec<String>>, cruster::testing::History) {
    let run = test.run::<Script>(case.to_owned());
    run.history.replay().unwrap();
    (run.result, run.history)
}

fn ok(case: &str) -> Vec<String> {
    run(test(), case).0.unwrap()
}

#[test]
fn join_waits_for_all() {
    assert_eq!(ok("join"), ["a", "3"]);
    let (result, history) = run(test(), "join fails");
    assert_eq!(result.unwrap_err().error_type(), "slow");
    assert_eq!(history.duration(), seconds(2));
}

#[test]
fn join_all_keeps_the_order_of_its_list() {
    let expected: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    assert_eq!(ok("join_all"), expected);
}

#[test]
fn select_takes_the_first_and_cancels_the_others() {
    let (result, history) = run(test(), "select");
    assert_eq!(result.unwrap(), ["quick"]);
    let told: Vec<String> = history.events.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "issued 1 interrupted",
            "issued 2 deferred go",
            "issued 3 sleep 5s",
            "issued 4 sleep 1s",
            "delivered 4",
            "canceled 2",
            "delivered 3",
        ]
    );
    let (result, _) = run(
        test().resolve_after(Duration::ZERO, GO, "now".to_owned()),
        "select",
    );
    assert_eq!(result.unwrap(), ["now"]);
    assert_eq!(ok("first"), ["1"]);
}

#[test]
fn timeouts_end_waits() {
    assert_eq!(ok("timeout"), ["true", "x"]);
}

#[test]
fn tasks_take_turns() {
    let (result, history) = run(test(), "spawn");
    assert_eq!(result.unwrap(), ["a", "b"]);
    let echoes = history
        .steps()
        .iter()
        .filter(|s| *s == "activity echo")
        .count();
    assert_eq!(echoes, 3);
}

#[test]
fn an_interrupt_ends_waits_that_are_not_shielded() {
    let (result, history) = run(test().interrupt_after(seconds(5), "enough"), "cleanup");
    let e = result.unwrap_err();
    assert!(e.is_interrupted());
    assert_eq!(e.code(), "CR-2007");
    assert_eq!(e.message(), "the execution was asked to stop: enough");
    assert_eq!(
        history.steps(),
        ["sleep 60s", "deferred go", "sleep 1s", "activity echo"]
    );
    assert_eq!(history.duration(), seconds(6));

    let (result, _) = run(test().interrupt_after(seconds(5), "enough"), "watch");
    assert_eq!(result.unwrap(), ["enough"]);

    let (result, _) = run(test().interrupt_after(seconds(1), ""), "stop");
    assert_eq!(
        result.unwrap_err().message(),
        "waiting: the execution was asked to stop"
    );
}

#[test]
fn deferreds_are_settled_once() {
    assert_eq!(
        ok("settle"),
        [
            "true",
            "false",
            "mine",
            "CR-2014 lost Some(7) it is lost",
            "CR-2004"
        ]
    );
    let (result, _) = run(
        test().reject_after(seconds(3), GO, cruster::err!("lost", "gone")),
        "forever",
    );
    let e = result.unwrap_err();
    assert_eq!(
        (e.code(), e.error_type(), e.message().as_str()),
        ("CR-2006", "lost", "gone")
    );
}

#[test]
fn other_workflows_are_executions_of_their_own() {
    assert_eq!(
        ok("children"),
        [
            "4",
            "zero child: CR-2006: there is nothing to double",
            "test/Child/named",
            "running",
            "42",
            "completed Some(42)",
        ]
    );
    let stub = |n: u32| Ok(format!("invoice {n}"));
    assert_eq!(
        run(test().stub_workflow("billing/Invoice", stub), "remote")
            .0
            .unwrap(),
        ["invoice 3"]
    );
    let (result, _) = run(test(), "remote");
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("there is no deployment \"billing\"")
    );
}

/// The error that the caller of a failed workflow sees.
#[test]
fn errors_keep_their_type_and_details() {
    let (result, history) = run(test(), "fail");
    let e = result.unwrap_err();
    assert_eq!(e.to_string(), "CR-2006: charge: CR-3001: no funds");
    assert_eq!(e.error_type(), "declined");
    assert_eq!(e.details::<Vec<String>>().unwrap(), ["a"]);
    assert_eq!(history.duration(), Duration::ZERO, "it was marked as final");

    let (result, history) = run(test(), "fail bare");
    assert_eq!(result.unwrap_err().to_string(), "CR-2006: no funds");
    assert_eq!(history.duration(), seconds(1 + 2 + 4 + 8 + 16));
}

#[test]
fn a_workflow_that_waits_for_nothing_is_told_so() {
    let (result, _) = run(test(), "forever");
    let e = result.unwrap_err();
    assert_eq!(e.code(), "CR-4012");
    assert!(
        e.to_string().ends_with("it waits for deferred go (op 2)"),
        "{e}"
    );
}

#[test]
fn random_numbers_and_time_are_those_of_the_execution() {
    let at = |id: &str| run(test().execution_id(id), "random").0.unwrap();
    let one = at("test/Script/one");
    assert_eq!(one, at("test/Script/one"));
    assert_ne!(one[0], at("test/Script/two")[0]);
    assert_eq!(one[1..], ["5", "2030-01-01T00:00:00Z"]);
    let version: Vec<char> = one[0].chars().filter(|c| *c == '-').collect();
    assert_eq!((one[0].len(), version.len(), &one[0][14..15]), (36, 4, "4"));
}

#[test]
fn stubs_and_virtual_time() {
    let (result, history) = run(
        test()
            .stub("add", |cx, (a, b): (i64, i64)| {
                Ok(a * 100 + b + i64::from(cx.attempt()))
            })
            .takes("echo", seconds(4)),
        "join",
    );
    assert_eq!(result.unwrap(), ["a", "103"]);
    assert_eq!(history.duration(), seconds(4));
}

#[test]
#[should_panic(expected = "the module has no activity \"ad\"; it has add, echo, fail")]
fn a_stub_of_nothing_is_refused() {
    let _ = test().stub("ad", |_, (): ()| Ok(()));
}
