//! Acts that are forbidden to workflows.

use cruster::prelude::*;

use crate::parallel::Numbers;
use crate::steps::{deeper, hog, spin};

/// Takes one step and then does something that a workflow must not do.
#[workflow]
pub struct Misuse;

#[workflow_impl(activity_groups(Numbers))]
impl Misuse {
    async fn execute(&self, what: String) -> Result<String> {
        self.square(2).await?;
        match what.as_str() {
            "blocking sleep" => block_the_thread(),
            "panic" => panic!("the workflow panicked as it was told"),
            "panic in a coroutine" => {
                self.spawn(async { panic!("the coroutine panicked as it was told") })
                    .await?;
            }
            "exit" => std::process::exit(4),
            "loop" => spin(),
            "hog" => hog(),
            "deadlock" => std::future::pending().await,
            "deadlock of two" => {
                let stuck = || self.spawn(std::future::pending::<Result<()>>());
                cruster::join!(stuck(), stuck()).await?;
            }
            "deadlock by channel" => {
                let (_sender, receiver) = cruster::channel::<()>(self, 0);
                let other = receiver.clone();
                let waiting = self.spawn(async move { other.recv().await });
                receiver.recv().await?;
                waiting.await?;
            }
            "lock twice" => lock_twice(),
            "recurse" => return Ok(deeper(1).to_string()),
            "abort" => std::process::abort(),
            "index" => return Ok(what.as_bytes()[what.len()..][0].to_string()),
            _ => {}
        }
        Ok("survived".to_owned())
    }
}

/// Waits for itself. On a host that is a panic, in a line of the standard library.
fn lock_twice() {
    let lock = std::sync::Mutex::new(());
    let _held = lock.lock();
    drop(lock.lock());
}

/// In `execute` itself the compiler would refuse it.
fn block_the_thread() {
    std::thread::sleep(Duration::from_secs(1));
}
