//! Code that does not come back ends the process of the tests, with the words of a host.

use std::process::{Command, Stdio};
use std::thread;

use cruster::prelude::*;
use cruster::testing::{Test, pass_limits};

/// Tells the started process the code that is to hang.
const HANGS: &str = "CRUSTER_TEST_HANGS";

#[workflow]
pub struct Hanging;

#[workflow_impl]
impl Hanging {
    async fn execute(&self, what: String) -> Result<u32, Error> {
        if what == "at once" {
            hang();
        }
        let _kept: Vec<_> = kept(&what)
            .map(|_| self.spawn(self.sleep(Duration::from_secs(3600))))
            .collect();
        let n = self.step(what.clone()).await?;
        if what == "joined" {
            self.spawn(self.sleep(Duration::from_secs(1))).await?;
            self.spawn(self.sleep(Duration::from_secs(2))).await?;
        }
        if ["turn", "joined", "pending", "many"].contains(&what.as_str()) {
            hang();
        }
        Ok(n)
    }

    #[activity(timeout = "1s")]
    async fn step(&self, what: String) -> Result<u32, Error> {
        if what == "attempt" {
            hang();
        }
        Ok(1)
    }
}

cruster::module! { workflows: [Hanging] }

/// The timers that run while it hangs.
fn kept(what: &str) -> std::ops::Range<u32> {
    match what {
        "pending" => 0..1,
        "many" => 0..12,
        _ => 0..0,
    }
}

/// Takes no processor from the tests beside it, and no time from this one.
fn hang() -> ! {
    pass_limits();
    loop {
        thread::park();
    }
}

/// The lines of `execute` and of its step.
const EXECUTE: u32 = 17;
const STEP: u32 = 24;

#[test]
fn what_hangs_ends_the_process() {
    if let Ok(what) = std::env::var(HANGS) {
        // Only hang makes the limit pass, on any machine.
        let limit = Duration::from_secs(15 * 60);
        let run = Test::new(&MODULE).turn_limit(limit).run::<Hanging>(what);
        panic!("it came back: {:?}", run.result);
    }
    let turn = "CR-4005: the module did not return from its turn before its deadline";
    let hanging = [
        (
            "at once",
            format!("{turn} (task 0, after its start at tests/hang.rs:{EXECUTE})"),
        ),
        (
            "turn",
            format!("{turn} (task 0, after activity step at tests/hang.rs:{STEP})"),
        ),
        (
            "joined",
            format!("{turn} (task 0, after activity step at tests/hang.rs:{STEP})"),
        ),
        (
            "pending",
            format!(
                "{turn} (task 0, after activity step at tests/hang.rs:{STEP}); pending: sleep 3600s (op 3)"
            ),
        ),
        (
            "many",
            format!(
                "{turn} (task 0, after activity step at tests/hang.rs:{STEP}); pending: {} and 2 more",
                (3..13)
                    .map(|op| format!("sleep 3600s (op {op})"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        ),
        (
            "attempt",
            "CR-3002: attempt 1 of activity \"step\" took longer than 1s".to_owned(),
        ),
    ]
    .map(|(what, says)| {
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "what_hangs_ends_the_process"])
            .env(HANGS, what)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        (process, says)
    });
    for (process, says) in hanging {
        let ended = process.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(101), "{told}");
        let says = format!("what_hangs_ends_the_process: {says}");
        assert!(told.contains(&says), "{told}\n\nhas not\n\n{says}");
    }
}

/// For a debugger.
#[test]
fn a_turn_may_take_for_ever() {
    let run = Test::new(&MODULE)
        .turn_limit(Duration::MAX)
        .run::<Hanging>("nothing".to_owned());
    assert_eq!(run.result.unwrap(), 1);
}
