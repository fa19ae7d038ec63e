//! Edge cases of the executor: tasks that wait for each other, futures that are
//! polled later, wide fan-outs, and ops that a host refuses.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use cruster::prelude::*;
use cruster::testing::{Finished, Test};
use cruster::{Value, join_all};

pub const NEVER: Deferred<String> = Deferred::new("never");

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Lets other tasks run first.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[workflow]
pub struct Edge;

#[workflow_impl(deferreds(NEVER))]
impl Edge {
    async fn execute(&self, case: String) -> Result<String, Error> {
        match case.as_str() {
            "handle twice" => self.handle_twice().await,
            "deadlock of two" => self.deadlock_of_two().await,
            "watcher" => self.watcher().await,
            "lent handle" => self.lent_handle().await,
            "late sleep" => self.late_sleep().await,
            "yielding" => self.yielding().await,
            "wide" => self.wide().await,
            "keys" => self.keys().await,
            _ => self.details().await,
        }
    }

    async fn handle_twice(&self) -> Result<String, Error> {
        let mut task = self.spawn(async { Ok(()) });
        (&mut task).await?;
        task.await?;
        Ok("twice".to_owned())
    }

    async fn deadlock_of_two(&self) -> Result<String, Error> {
        self.sleep(seconds(1)).await?;
        let stuck = || self.spawn(pending::<Result<()>>());
        cruster::join!(stuck(), stuck()).await?;
        Ok("never".to_owned())
    }

    /// Waits for an interrupt only.
    async fn watcher(&self) -> Result<String, Error> {
        let this = self.clone();
        self.spawn(async move { Ok(this.on_interrupt().await) })
            .await
            .or_else(|e| {
                Ok(format!(
                    "{} {}",
                    e.is_interrupted(),
                    self.interrupt_reason()
                ))
            })
    }

    /// An interrupt ends a wait for a task, but the task may still be awaited.
    async fn lent_handle(&self) -> Result<String, Error> {
        let this = self.clone();
        let mut task = self.shield_spawn(async move {
            this.sleep(seconds(9)).await?;
            Ok("done".to_owned())
        });
        let e = (&mut task).await.unwrap_err();
        assert!(e.is_interrupted() && !task.is_finished());
        self.shield(task).await
    }

    fn shield_spawn(
        &self,
        future: impl Future<Output = Result<String>> + 'static,
    ) -> cruster::JoinHandle<String> {
        let this = self.clone();
        self.spawn(async move { this.shield(future).await })
    }

    async fn late_sleep(&self) -> Result<String, Error> {
        let later = self.sleep_until(self.now() + seconds(10));
        self.sleep(seconds(7)).await?;
        later.await?;
        Ok(self.now().to_string())
    }

    async fn yielding(&self) -> Result<String, Error> {
        let flag = Rc::new(Cell::new(false));
        let set = flag.clone();
        drop(self.spawn(async move {
            set.set(true);
            Ok(())
        }));
        let wait = || async {
            while !flag.get() {
                yield_once().await;
            }
            Ok(())
        };
        join_all([wait(), wait()]).await?;
        Ok("seen".to_owned())
    }

    async fn wide(&self) -> Result<String, Error> {
        let all = join_all((0..10_000).map(|n| self.echo(n))).await?;
        Ok(all.iter().sum::<u64>().to_string())
    }

    async fn keys(&self) -> Result<String, Error> {
        let mut seen = Vec::new();
        for key in ["", "two\nlines", &"x".repeat(513)] {
            for client in [
                Edge::client(self).with_key_raw(key),
                Edge::client(self).with_key(key),
            ] {
                let e = client.start("late sleep".to_owned()).await.unwrap_err();
                seen.push(e.code().to_owned());
            }
        }
        let e = self.echo(1).key("two\nlines").await.unwrap_err();
        seen.push(e.code().to_owned());
        let twice = Value::Map(vec![(1.into(), 2.into()), (1.into(), 3.into())]);
        let e = self.any(twice).await.unwrap_err();
        seen.push(e.code().to_owned());
        let other = Edge::client(self).with_key_raw("other");
        other.execute("late sleep".to_owned()).await?;
        let id = other.start("late sleep".to_owned()).await?;
        let late = self.resolve_deferred_in(&id, NEVER, "late".to_owned());
        seen.push(late.await.unwrap_err().code().to_owned());
        Ok(seen.join(" "))
    }

    async fn details(&self) -> Result<String, Error> {
        let e = self.await_deferred(NEVER).await.unwrap_err();
        Err(e.with_details(&7).context("cleaned up"))
    }

    #[activity]
    async fn echo(&self, n: u64) -> Result<u64, Error> {
        Ok(n)
    }

    #[activity]
    async fn any(&self, value: Value) -> Result<Value, Error> {
        Ok(value)
    }
}

cruster::module! { workflows: [Edge] }

fn run(test: Test, case: &str) -> Finished<String> {
    let run = test.run::<Edge>(case.to_owned());
    run.history.replay().unwrap();
    run
}

fn test() -> Test {
    Test::new(&MODULE)
}

#[test]
#[should_panic(expected = "the handle of a task was polled after its end")]
fn a_handle_yields_its_result_once() {
    run(test(), "handle twice");
}

/// No op is open, so only an interrupt could end the wait. That is a deadlock.
#[test]
fn tasks_that_wait_for_each_other_are_a_deadlock() {
    let run = run(
        test().interrupt_after(seconds(3600), "tired"),
        "deadlock of two",
    );
    let e = run.result.unwrap_err();
    assert_eq!(e.code(), "CR-4012", "{e}");
    assert!(e.to_string().contains("nothing is pending: task 0"), "{e}");
    assert_eq!(run.history.duration(), seconds(1));
}

#[test]
fn a_workflow_may_wait_for_an_interrupt_alone() {
    let run = run(test().interrupt_after(seconds(3600), "enough"), "watcher");
    assert_eq!(run.result.unwrap(), "true enough");
    assert_eq!(run.history.duration(), seconds(3600));
}

#[test]
fn an_interrupted_wait_for_a_task_can_be_taken_up_again() {
    let run = run(test().interrupt_after(seconds(2), ""), "lent handle");
    assert_eq!(run.result.unwrap(), "done");
    assert_eq!(run.history.duration(), seconds(9));
}

#[test]
fn a_sleep_until_a_time_ends_then_whenever_it_begins() {
    let run = run(test(), "late sleep");
    assert_eq!(run.result.unwrap(), "2030-01-01T00:00:10Z");
    assert_eq!(run.history.steps(), ["sleep 7s", "sleep 3s"]);
}

#[test]
fn join_all_leaves_turns_to_other_tasks() {
    assert_eq!(run(test(), "yielding").result.unwrap(), "seen");
}

#[test]
fn a_wide_fan_out_is_no_trouble() {
    assert_eq!(run(test(), "wide").result.unwrap(), "49995000");
}

#[test]
fn the_kit_refuses_what_a_host_refuses() {
    let seen = run(test(), "keys").result.unwrap();
    let keys = ["CR-2003"; 6].join(" ");
    assert_eq!(seen, format!("{keys} CR-4001 CR-4001 CR-2012"));
}

#[test]
fn an_interrupt_with_details_is_an_interrupt() {
    let run = run(test().interrupt_after(seconds(2), "why"), "details");
    let e = run.result.unwrap_err();
    assert_eq!(
        (e.code(), e.message().as_str()),
        (
            "CR-2007",
            "cleaned up: the execution was asked to stop: why"
        )
    );
}
