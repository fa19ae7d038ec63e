//! Semaphores and channels.

use cruster::prelude::*;
use cruster::testing::{Finished, Test};
use cruster::{JoinSet, Semaphore};

use super::{MODULE, Trace, seconds, told};

#[workflow]
pub struct Waits;

#[workflow_impl]
impl Waits {
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
            _ => self.no_sender().await,
        }
    }

    async fn semaphore(&self) -> Result<Vec<String>, Error> {
        let (trace, slots) = (Trace::default(), Semaphore::new(self, 2));
        let mut tasks = JoinSet::new(self);
        for i in 0..6 {
            let (this, trace, slots) = (self.clone(), trace.clone(), slots.clone());
            tasks.spawn(async move {
                // The third asks for both, and the waiters behind it wait for it.
                let _permit = slots.acquire_many(if i == 2 { 2 } else { 1 }).await?;
                let _inside = trace.enter();
                this.sleep(seconds(60)).await?;
                trace.note(i);
                Ok(())
            });
        }
        self.sleep(seconds(1)).await?;
        // A task that gives up takes nothing, and keeps no one behind it waiting.
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

    /// The first in line wants more than there is; when it gives up, the waiters behind it are
    /// served.
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

    /// Waiting tasks are told that the other end is gone.
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

    /// Receivers are served in the order in which they came; a cancelled receiver takes nothing.
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
}

fn run_with(test: Test, case: &str) -> Finished<Vec<String>> {
    let run = test.run::<Waits>(case.to_owned());
    run.history.replay().unwrap();
    run
}

fn run(case: &str) -> Vec<String> {
    run_with(Test::new(&MODULE), case).result.unwrap()
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
    let run = Test::new(&MODULE).run::<Waits>("no sender".to_owned());
    assert_eq!(run.result.unwrap_err().code(), "CR-4012");
}
