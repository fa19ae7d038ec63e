//! Parts of a workflow that are bounded, joined and given up.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::{Finished, Test};
use cruster::{JoinSet, Semaphore, join_all, try_join_all};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// What happened, in order; and how many are inside at a time.
#[derive(Clone, Default)]
struct Trace {
    lines: Rc<RefCell<Vec<String>>>,
    now: Rc<Cell<usize>>,
    most: Rc<Cell<usize>>,
}

impl Trace {
    fn note(&self, line: impl ToString) {
        self.lines.borrow_mut().push(line.to_string());
    }

    fn enter(&self) -> Inside {
        self.now.set(self.now.get() + 1);
        self.most.set(self.most.get().max(self.now.get()));
        Inside(self.now.clone())
    }

    fn take(&self) -> Vec<String> {
        self.lines.take()
    }
}

struct Inside(Rc<Cell<usize>>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[derive(Serialize, Deserialize, Schema, Default)]
pub struct Mapped {
    pub items: u64,
    pub at_once: u32,
    pub fails: Option<u64>,
    /// In seconds.
    pub deadline: Option<u64>,
    pub fast: bool,
}

#[derive(Serialize, Deserialize, Schema, Debug, PartialEq)]
pub struct MapResult {
    pub out: Vec<String>,
    pub most: u32,
    pub begun: u32,
}

fn told<T: ToString>(result: Result<T>) -> String {
    result.map_or_else(|e| e.to_string(), |v| v.to_string())
}

#[workflow]
pub struct Maps;

#[workflow_impl]
impl Maps {
    async fn execute(&self, m: Mapped) -> Result<MapResult, Error> {
        let trace = Trace::default();
        let begun = Cell::new(0);
        let double = |i: u64| {
            let (trace, begun) = (&trace, &begun);
            async move {
                let _inside = trace.enter();
                begun.set(begun.get() + 1);
                if Some(i) == m.fails {
                    return Err(Error::message_only("no"));
                }
                self.sleep(seconds(60)).await?;
                Ok(2 * i)
            }
        };
        let futures = (0..m.items).map(double);
        let limit = m.at_once as usize;
        let all = |all: Result<Vec<u64>>| match all {
            Ok(all) => all.into_iter().map(|v| v.to_string()).collect(),
            Err(e) => vec![e.to_string()],
        };
        let out = match (m.deadline, m.fast) {
            (_, true) => all(try_join_all(futures).limit(limit).await),
            (None, _) => all(join_all(futures).limit(limit).await),
            (Some(deadline), _) => {
                let settled = join_all(futures).limit(limit);
                let settled = settled.settled_by(self.sleep(seconds(deadline))).await;
                settled.into_iter().map(told).collect()
            }
        };
        assert_eq!(trace.now.get(), 0, "all are over or dropped");
        Ok(MapResult {
            out,
            most: trace.most.get() as u32,
            begun: begun.get(),
        })
    }
}

#[workflow]
pub struct Structure;

#[workflow_impl]
impl Structure {
    async fn execute(&self, case: String) -> Result<Vec<String>, Error> {
        match case.as_str() {
            "semaphore" => self.semaphore().await,
            "permits" => self.permits().await,
            "channel 0" => self.channel(0).await,
            "channel 2" => self.channel(2).await,
            "channel 9" => self.channel(9).await,
            "taken back" => self.taken_back().await,
            "closed" => self.closed().await,
            "receivers" => self.receivers().await,
            "no sender" => self.no_sender().await,
            "cancel" => self.cancels().await,
            "cancel itself" => self.cancels_itself().await,
            "shielded" => self.shielded().await,
            "join set" => self.join_set().await,
            "dropped set" => self.dropped_set().await,
            _ => self.interrupted_waits().await,
        }
    }

    async fn semaphore(&self) -> Result<Vec<String>, Error> {
        let (trace, slots) = (Trace::default(), Semaphore::new(self, 2));
        let mut tasks = JoinSet::new(self);
        for i in 0..6 {
            let (this, trace, slots) = (self.clone(), trace.clone(), slots.clone());
            tasks.spawn(async move {
                // The third asks for both, and those behind it wait for it.
                let _permit = slots.acquire_many(if i == 2 { 2 } else { 1 }).await?;
                let _inside = trace.enter();
                this.sleep(seconds(60)).await?;
                trace.note(i);
                Ok(())
            });
        }
        self.sleep(seconds(1)).await?;
        // One that gives up takes nothing, and keeps no one behind it waiting.
        let late = self.timeout(seconds(1), slots.acquire()).await;
        trace.note(format!("late {}", late.unwrap_err()));
        while let Some(done) = tasks.join_next().await {
            done?;
        }
        trace.note(format!("most {}", trace.most.get()));
        let both = slots.try_acquire_many(2);
        trace.note(format!(
            "{} {}",
            both.is_some(),
            slots.try_acquire().is_some()
        ));
        trace.note(slots.acquire_many(3).await.unwrap_err());
        Ok(trace.take())
    }

    /// The first in line wants more than there is; when it gives up, those behind it are served.
    async fn permits(&self) -> Result<Vec<String>, Error> {
        let (trace, slots) = (Trace::default(), Semaphore::new(self, 2));
        let one = slots.acquire().await?;
        let big = {
            let slots = slots.clone();
            self.spawn(async move { slots.acquire_many(2).await.map(drop) })
        };
        let small = {
            let (trace, slots) = (trace.clone(), slots.clone());
            self.spawn(async move {
                let permit = slots.acquire().await?;
                trace.note("small");
                Ok(permit)
            })
        };
        self.sleep(seconds(1)).await?;
        trace.note(format!("{} is free", slots.available()));
        big.cancel();
        trace.note(told(big.await.map(|()| "")));
        drop(small.await?);
        // A waiter that was woken and is dropped before its turn gives its turn on.
        let both = slots.acquire().await?;
        let woken = {
            let slots = slots.clone();
            self.spawn(async move { slots.acquire().await.map(drop) })
        };
        let next = {
            let slots = slots.clone();
            self.spawn(async move { slots.acquire().await.map(drop) })
        };
        self.sleep(seconds(1)).await?;
        drop(one);
        woken.cancel();
        next.await?;
        drop(both);
        trace.note(format!("{} are free", slots.available()));
        Ok(trace.take())
    }

    async fn channel(&self, capacity: usize) -> Result<Vec<String>, Error> {
        let trace = Trace::default();
        let (sender, receiver) = cruster::channel(self, capacity);
        let sent = trace.clone();
        let producer = self.spawn(async move {
            for i in 0..4 {
                sender.send(i).await?;
                sent.note(format!("sent {i}"));
            }
            Ok(())
        });
        self.sleep(seconds(1)).await?;
        trace.note(format!("kept {}", receiver.len()));
        while let Some(i) = receiver.recv().await? {
            trace.note(format!("got {i}"));
        }
        producer.await?;
        Ok(trace.take())
    }

    /// A value whose sender gives up is not received by anyone.
    async fn taken_back(&self) -> Result<Vec<String>, Error> {
        let trace = Trace::default();
        let (sender, receiver) = cruster::channel(self, 0);
        let late = self.timeout(seconds(1), sender.send("too late")).await;
        trace.note(told(late.map(|()| "")));
        drop(self.spawn(async move { sender.send("in time").await }));
        while let Some(value) = receiver.recv().await? {
            trace.note(value);
        }
        trace.note(receiver.try_recv().is_none());
        Ok(trace.take())
    }

    /// Those who wait are told that the other end is gone.
    async fn closed(&self) -> Result<Vec<String>, Error> {
        let trace = Trace::default();
        let (sender, receiver) = cruster::channel(self, 1);
        sender.send(0).await?;
        let mut tasks = JoinSet::new(self);
        for i in 1..3 {
            let sender = sender.clone();
            tasks.spawn(async move { sender.send(i).await });
        }
        self.sleep(seconds(1)).await?;
        drop(receiver);
        while let Some(done) = tasks.join_next().await {
            trace.note(told(done.map(|()| "")));
        }
        trace.note(sender.is_closed());
        Ok(trace.take())
    }

    /// Receivers are served in the order in which they came; one that was cancelled takes nothing.
    async fn receivers(&self) -> Result<Vec<String>, Error> {
        let trace = Trace::default();
        let (sender, receiver) = cruster::channel(self, 3);
        let mut tasks = Vec::new();
        for i in 0..3 {
            let (trace, receiver) = (trace.clone(), receiver.clone());
            tasks.push(self.spawn(async move {
                let got = receiver.recv().await?;
                trace.note(format!("{i} got {got:?}"));
                Ok(())
            }));
        }
        self.sleep(seconds(1)).await?;
        sender.send("a").await?;
        tasks[0].cancel(); // it was woken, but has not had its turn
        sender.send("b").await?;
        drop(sender);
        for task in tasks {
            trace.note(told(task.await.map(|()| "done")));
        }
        trace.note(format!("{:?}", receiver.recv().await?));
        Ok(trace.take())
    }

    async fn no_sender(&self) -> Result<Vec<String>, Error> {
        let (sender, receiver) = cruster::channel::<String>(self, 0);
        let got = receiver.recv().await?;
        drop(sender);
        Ok(got.into_iter().collect())
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

    /// The tasks of a set that is dropped are cancelled, with those of their own sets.
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

cruster::module! { workflows: [Maps, Structure] }

fn map(m: Mapped) -> (MapResult, Duration) {
    let run = Test::new(&MODULE).run::<Maps>(m);
    run.history.replay().unwrap();
    (run.result.unwrap(), run.history.duration())
}

fn run_with(test: Test, case: &str) -> Finished<Vec<String>> {
    let run = test.run::<Structure>(case.to_owned());
    run.history.replay().unwrap();
    run
}

fn run(case: &str) -> Vec<String> {
    run_with(Test::new(&MODULE), case).result.unwrap()
}

#[test]
fn at_most_n_futures_are_under_way() {
    let (got, took) = map(Mapped {
        items: 7,
        at_once: 3,
        ..Mapped::default()
    });
    assert_eq!(got.out, ["0", "2", "4", "6", "8", "10", "12"]);
    assert_eq!((got.most, got.begun), (3, 7));
    assert_eq!(took, seconds(180));
}

#[test]
fn join_all_waits_for_all_and_try_join_all_for_the_first_failure() {
    let asked = |fast| Mapped {
        items: 7,
        at_once: 3,
        fails: Some(3),
        fast,
        deadline: None,
    };
    let (got, took) = map(asked(false));
    assert_eq!((got.out, got.begun), (vec!["no".to_owned()], 7));
    assert_eq!(took, seconds(120), "the fourth takes no time");

    let (got, took) = map(asked(true));
    assert_eq!((got.out, got.begun), (vec!["no".to_owned()], 4));
    assert_eq!(
        took,
        seconds(60),
        "the fourth begins when the first is done"
    );
}

#[test]
fn nothing_takes_no_time() {
    let (got, took) = map(Mapped {
        at_once: 1,
        ..Mapped::default()
    });
    assert_eq!((got.out, took), (vec![], seconds(0)));
}

#[test]
fn at_a_deadline_there_are_the_results_that_came_in_time() {
    let (got, took) = map(Mapped {
        items: 6,
        at_once: 2,
        fails: Some(1),
        deadline: Some(150),
        fast: false,
    });
    assert_eq!(got.out, ["0", "no", "4", "6", "8", "timed out"]);
    assert_eq!((got.most, took), (2, seconds(150)));

    let (got, took) = map(Mapped {
        items: 2,
        at_once: 2,
        deadline: Some(150),
        ..Mapped::default()
    });
    assert_eq!(got.out, ["0", "2"]);
    assert_eq!(took, seconds(60), "no timer is left over");
}

#[test]
fn an_interrupt_ends_a_bounded_join() {
    let asked = Mapped {
        items: 5,
        at_once: 2,
        deadline: Some(150),
        ..Mapped::default()
    };
    let test = Test::new(&MODULE).interrupt_after(seconds(90), "");
    let run = test.run::<Maps>(asked);
    let stop = "the execution was asked to stop";
    assert_eq!(run.result.unwrap().out, ["0", "2", stop, stop, stop]);
    assert_eq!(run.history.duration(), seconds(90));
}

#[test]
#[should_panic(expected = "nothing would ever be done")]
fn a_limit_of_none_is_refused() {
    map(Mapped::default());
}

#[test]
fn a_semaphore_serves_in_order() {
    let run = run_with(Test::new(&MODULE), "semaphore");
    assert_eq!(
        run.result.unwrap(),
        [
            "late timed out",
            "0",
            "1",
            "2",
            "3",
            "4",
            "5",
            "most 2",
            "true false",
            "CR-4002: a semaphore of 2 cannot give 3",
        ]
    );
    assert_eq!(run.history.duration(), seconds(240));
}

#[test]
fn a_wait_for_a_semaphore_that_is_given_up_takes_nothing() {
    assert_eq!(
        run("permits"),
        ["1 is free", "it was cancelled", "small", "2 are free"]
    );
}

#[test]
fn a_channel_keeps_order_and_bounds() {
    assert_eq!(
        run("channel 0"),
        [
            "kept 1", "got 0", "sent 0", "got 1", "sent 1", "got 2", "sent 2", "got 3", "sent 3"
        ]
    );
    assert_eq!(
        run("channel 2"),
        [
            "sent 0", "sent 1", "kept 2", "got 0", "got 1", "sent 2", "sent 3", "got 2", "got 3"
        ]
    );
    assert_eq!(
        run("channel 9"),
        [
            "sent 0", "sent 1", "sent 2", "sent 3", "kept 4", "got 0", "got 1", "got 2", "got 3"
        ]
    );
}

#[test]
fn a_value_whose_sender_gives_up_is_not_received() {
    assert_eq!(run("taken back"), ["timed out", "in time", "true"]);
}

#[test]
fn who_waits_for_a_channel_is_told_that_the_other_end_is_gone() {
    let closed = "the channel is closed";
    assert_eq!(run("closed"), [closed, closed, "true"]);
}

#[test]
fn receivers_take_turns() {
    assert_eq!(
        run("receivers"),
        [
            "it was cancelled",
            "1 got Some(\"a\")",
            "2 got Some(\"b\")",
            "done",
            "done",
            "None"
        ]
    );
}

#[test]
fn tasks_that_wait_for_what_no_one_sends_are_a_deadlock() {
    let run = Test::new(&MODULE).run::<Structure>("no sender".to_owned());
    assert_eq!(run.result.unwrap_err().code(), "CR-4012");
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
