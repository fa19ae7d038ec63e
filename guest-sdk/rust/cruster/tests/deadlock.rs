//! A workflow that waits for ever shows the lines of its author.

use cruster::prelude::*;
use cruster::testing::Test;
use cruster::{JoinSet, Semaphore};

#[workflow]
struct Stuck;

/// The lines of the places below, from the line of `execute` on.
const START: u32 = line!() + 4;

#[workflow_impl]
impl Stuck {
    async fn execute(&self, what: String) -> Result<()> {
        let (sender, receiver) = cruster::channel::<u32>(self, 1);
        let semaphore = Semaphore::new(self, 1);
        let _held = semaphore.acquire().await?;
        sender.send(1).await?;
        let (full, busy) = (sender.clone(), semaphore.clone());
        let sending = self.spawn(async move { full.send(2).await });
        let acquiring = self.spawn(async move { busy.acquire().await.map(drop) });
        match what.as_str() {
            "join" => cruster::join!(sending, acquiring).await.map(drop)?,
            "until" => self.until(|| false).await?,
            "set" => {
                let mut set = JoinSet::<()>::new(self);
                set.spawn(std::future::pending());
                set.join_next().await;
            }
            _ => {
                let (_kept, empty) = cruster::channel::<u32>(self, 0);
                empty.recv().await?;
            }
        }
        receiver.recv().await.map(drop)
    }
}

cruster::module! { workflows: [Stuck] }

fn message(what: &str) -> String {
    let run = Test::new(&MODULE).run::<Stuck>(what.to_owned());
    let e = run.result.unwrap_err();
    assert_eq!(e.code(), "CR-4012");
    e.to_string()
}

/// A line of `execute`, counted from its first.
fn at(line: u32) -> String {
    format!("tests/deadlock.rs:{}", START + line)
}

#[test]
fn a_deadlock_shows_the_lines_of_the_author() {
    let others = format!(
        "; task 1, begun at {0}, waits for room in a channel at {0}; task 2, begun at {1}, waits for a semaphore at {1}",
        at(6),
        at(7)
    );
    let both = format!("task 1, begun at {} or task 2, begun at {}", at(6), at(7));
    for (what, main) in [
        ("join", both),
        ("until", format!("a condition at {}", at(10))),
        ("set", format!("a task of a set at {}", at(14))),
        ("channel", format!("a channel at {}", at(18))),
    ] {
        let e = message(what);
        let expected = format!("task 0, the workflow itself, waits for {main}{others}");
        assert!(e.contains(&expected), "{e}\n\nis not\n\n{expected}");
    }
    let own = format!(
        "; task 3, begun at {}, waits for a future that is not the SDK's",
        at(13)
    );
    let e = message("set");
    assert!(e.contains(&own), "{e}");
}
