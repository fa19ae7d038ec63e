//! Tasks, and sets of them, that are cancelled.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::{Finished, Test};
use cruster::{JoinSet, Semaphore};

use super::{MODULE, Trace, seconds, told};

#[workflow]
pub struct Tasks;

#[workflow_impl]
impl Tasks {
    async fn execute(&self, case: String) -> Result<Vec<String>, Error> {
        match case.as_str() {
            "cancel" => self.cancels().await,
            "cancel itself" => self.cancels_itself().await,
            "shielded" => self.shielded().await,
            "join set" => self.join_set().await,
            "dropped set" => self.dropped_set().await,
            _ => self.interrupted_waits().await,
        }
    }

    async fn cancels(&self) -> Result<Vec<String>, Error> {
        let trace = Trace::default();
        let this = self.clone();
        let part = self.spawn(async move {
            cruster::join!(this.sleep(seconds(3600)), this.work("slow".to_owned())).await?;
            Ok(())
        });
        let done = self.spawn(async { Ok("done") });
        self.sleep(seconds(1)).await?;
        part.cancel();
        part.cancel();
        trace.note(part.is_finished());
        trace.note(told(part.await.map(|()| "")));
        done.cancel();
        trace.note(done.await?);
        Ok(trace.take())
    }

    /// A task that cancels itself goes on to its next wait, and begins nothing.
    async fn cancels_itself(&self) -> Result<Vec<String>, Error> {
        let (trace, noted, this) = (Trace::default(), Trace::default(), self.clone());
        let own: Rc<RefCell<Option<cruster::JoinHandle<()>>>> = Rc::default();
        let (handle, inner) = (own.clone(), noted.clone());
        *own.borrow_mut() = Some(self.spawn(async move {
            if let Some(handle) = &*handle.borrow() {
                handle.cancel();
            }
            inner.note(told(this.sleep(seconds(9)).await.map(|()| "slept")));
            std::future::pending::<()>().await;
            Ok(())
        }));
        self.sleep(seconds(1)).await?;
        let handle = own.take().unwrap();
        trace.note(told(handle.await.map(|()| "")));
        Ok([noted.take(), trace.take()].concat())
    }

    async fn shielded(&self) -> Result<Vec<String>, Error> {
        let (trace, noted, this) = (Trace::default(), Trace::default(), self.clone());
        let inner = noted.clone();
        let task = self.spawn(async move {
            let cleaned = this.shield(this.sleep(seconds(60))).await;
            inner.note(told(cleaned.map(|()| "cleaned up")));
            inner.note(told(this.sleep(seconds(60)).await.map(|()| "slept")));
            this.until(|| false).await
        });
        self.sleep(seconds(1)).await?;
        task.cancel();
        trace.note(format!("finished: {}", task.is_finished()));
        trace.note(told(task.await.map(|()| "")));
        Ok([noted.take(), trace.take()].concat())
    }

    async fn join_set(&self) -> Result<Vec<String>, Error> {
        let trace = Trace::default();
        let mut tasks = JoinSet::new(self);
        for (name, time) in [("slow", 9), ("fast", 1), ("failing", 2), ("stays", 99)] {
            let this = self.clone();
            tasks.spawn(async move {
                this.sleep(seconds(time)).await?;
                match name {
                    "failing" => Err(Error::message_only("it failed")),
                    name => Ok(name),
                }
            });
        }
        for _ in 0..3 {
            trace.note(tasks.join_next().await.map_or_else(String::new, told));
        }
        trace.note(tasks.len());
        tasks.cancel_all();
        while let Some(left) = tasks.join_next().await {
            trace.note(told(left));
        }
        trace.note(tasks.is_empty());
        Ok(trace.take())
    }

    /// The tasks of a set that is dropped are cancelled, with the tasks of their own sets.
    async fn dropped_set(&self) -> Result<Vec<String>, Error> {
        let trace = Trace::default();
        let mut tasks = JoinSet::new(self);
        let (this, inside) = (self.clone(), trace.clone());
        tasks.spawn(async move {
            let mut nested = JoinSet::new(&this);
            let that = this.clone();
            let nested_inside = inside.enter();
            nested.spawn(async move {
                let _inside = nested_inside;
                that.sleep(seconds(3600)).await
            });
            let _inside = inside.enter();
            this.sleep(seconds(3600)).await
        });
        self.sleep(seconds(1)).await?;
        trace.note(trace.now.get());
        drop(tasks);
        trace.note(trace.now.get());
        Ok(trace.take())
    }

    /// An interrupt ends waits; the tasks of a set are joined all the same.
    async fn interrupted_waits(&self) -> Result<Vec<String>, Error> {
        let trace = Trace::default();
        let slots = Semaphore::new(self, 1);
        let taken = slots.acquire().await?;
        let (sender, receiver) = cruster::channel::<u8>(self, 0);
        let mut tasks = JoinSet::new(self);
        tasks.spawn(async move { slots.acquire().await.map(|_| "acquired") });
        let this = self.clone();
        tasks.spawn(async move {
            this.shield(this.sleep(seconds(60)))
                .await
                .map(|()| "shielded")
        });
        tasks.spawn(async move { receiver.recv().await.map(|_| "received") });
        while let Some(done) = tasks.join_next().await {
            trace.note(told(done));
        }
        drop((sender, taken));
        Ok(trace.take())
    }

    #[activity]
    async fn work(&self, name: String) -> Result<String, Error> {
        Ok(name)
    }
}

fn run_with(test: Test, case: &str) -> Finished<Vec<String>> {
    let run = test.run::<Tasks>(case.to_owned());
    run.history.replay().unwrap();
    run
}

fn run(case: &str) -> Vec<String> {
    run_with(Test::new(&MODULE), case).result.unwrap()
}

#[test]
fn a_cancelled_task_cancels_its_durable_calls() {
    let test = Test::new(&MODULE).takes("work", seconds(600));
    let run = run_with(test, "cancel");
    assert_eq!(run.result.unwrap(), ["true", "it was cancelled", "done"]);
    assert_eq!(run.history.duration(), seconds(1), "no timer is left over");
}

#[test]
fn a_task_can_cancel_itself() {
    let cancelled = "it was cancelled";
    assert_eq!(run("cancel itself"), [cancelled, cancelled]);
}

#[test]
fn a_shield_is_left_before_a_task_is_cancelled() {
    let run = run_with(Test::new(&MODULE), "shielded");
    assert_eq!(
        run.result.unwrap(),
        [
            "cleaned up",
            "it was cancelled",
            "finished: false",
            "it was cancelled"
        ]
    );
    assert_eq!(run.history.duration(), seconds(60));
}

#[test]
fn a_set_yields_results_as_they_come() {
    let run = run_with(Test::new(&MODULE), "join set");
    assert_eq!(
        run.result.unwrap(),
        ["fast", "it failed", "slow", "1", "it was cancelled", "true"]
    );
    assert_eq!(run.history.duration(), seconds(9));
}

#[test]
fn a_set_that_is_dropped_cancels_its_tasks() {
    let run = run_with(Test::new(&MODULE), "dropped set");
    assert_eq!(run.result.unwrap(), ["2", "0"]);
    assert_eq!(run.history.duration(), seconds(1));
}

#[test]
fn an_interrupt_ends_waits_of_tasks() {
    let test = Test::new(&MODULE).interrupt_after(seconds(5), "");
    let run = run_with(test, "interrupt");
    let stop = "the execution was asked to stop";
    assert_eq!(run.result.unwrap(), [stop, stop, "shielded"]);
}
