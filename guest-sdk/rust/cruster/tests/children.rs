//! Workflows that were called, and their fate when their caller gives up.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::OnCancel;
use cruster::prelude::*;
use cruster::testing::Test;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Sleeps for an hour, and cleans up if it is asked to stop.
#[workflow]
pub struct Slowly;

#[workflow_impl(key = |name: &String| name.clone(), hash = false)]
impl Slowly {
    async fn execute(&self, name: String) -> Result<String, Error> {
        let slept = self.sleep(seconds(3600)).await;
        if slept.is_err() {
            self.shield(self.sweep_up(name.clone())).await?;
        }
        slept.map(|()| name)
    }

    #[activity]
    async fn sweep_up(&self, name: String) -> Result<String, Error> {
        Ok(name)
    }
}

/// Ends at once.
#[workflow]
pub struct Quick;

#[workflow_impl]
impl Quick {
    async fn execute(&self, _: ()) -> Result<(), Error> {
        Ok(())
    }
}

/// Gives up its callees, in the way that its request names.
#[workflow]
pub struct GivingUp;

#[workflow_impl]
impl GivingUp {
    async fn execute(&self, how: String) -> Result<Vec<String>, Error> {
        if how == "interrupt" {
            return self.interrupts().await;
        }
        let calls = async {
            let stopped = Slowly::client(self).execute("stopped".into());
            let left = Slowly::client(self)
                .on_cancel(OnCancel::Abandon)
                .execute("left".into());
            let killed = Slowly::client(self)
                .on_cancel(OnCancel::Terminate)
                .execute("killed".into());
            cruster::join!(stopped, left, killed).await
        };
        let given_up = self.timeout(seconds(60), calls).await;
        if how == "end" {
            return Ok(vec![]);
        }
        if given_up.err().is_some_and(|e| e.is_interrupted()) {
            self.sleep(seconds(1)).await?;
        }
        self.sleep(seconds(60)).await?;
        let client = Slowly::client(self);
        let mut states = vec![];
        for name in ["stopped", "left", "killed"] {
            let seen = client.poll(format!("test/Slowly/{name}")).await?;
            let code = seen
                .outcome
                .and_then(Result::err)
                .map(|e| e.code().to_owned());
            states.push(format!("{} {}", seen.state, code.unwrap_or_default()));
        }
        Ok(states)
    }

    async fn interrupts(&self) -> Result<Vec<String>, Error> {
        let client = Slowly::client(self);
        let id = client.start("other".into()).await?;
        client.interrupt(&id, "enough").await?;
        let ended = client.execute("other".into()).await.unwrap_err();
        client.interrupt(&id, "once more").await?;
        let missing = client.interrupt("test/Slowly/none", "").await.unwrap_err();
        let over = Quick::client(self).start(()).await?;
        self.sleep(seconds(1)).await?;
        let late = Quick::client(self).interrupt(&over, "").await.unwrap_err();
        Ok([ended, missing, late].map(|e| e.code().to_owned()).into())
    }
}

cruster::module! { workflows: [Slowly, Quick, GivingUp] }

/// A test that records the workflows that have cleaned up.
fn noting() -> (Test, Rc<RefCell<Vec<String>>>) {
    let cleaned = Rc::new(RefCell::new(vec![]));
    let notes = cleaned.clone();
    let test = Test::new(&MODULE).stub("sweep_up", move |_, name: String| {
        notes.borrow_mut().push(name.clone());
        Ok(name)
    });
    (test, cleaned)
}

#[test]
fn calls_that_are_dropped_stop_what_they_have_started() {
    let (test, cleaned) = noting();
    let run = test.run::<GivingUp>("cancel".into());
    let states = ["interrupted CR-2007", "running ", "interrupted CR-2046"];
    assert_eq!(run.result.unwrap(), states);
    assert_eq!(*cleaned.borrow(), ["stopped"]);
}

#[test]
fn they_clean_up_after_their_caller_has_ended() {
    let (test, cleaned) = noting();
    test.run::<GivingUp>("end".into()).result.unwrap();
    assert_eq!(*cleaned.borrow(), ["stopped"]);
}

#[test]
fn an_interrupt_reaches_them() {
    let (test, cleaned) = noting();
    let run = test
        .interrupt_after(seconds(1), "enough")
        .run::<GivingUp>("cancel".into());
    assert!(run.result.unwrap_err().is_interrupted());
    assert_eq!(*cleaned.borrow(), ["stopped"]);
}

#[test]
fn a_workflow_interrupts_another() {
    let (test, cleaned) = noting();
    let run = test.run::<GivingUp>("interrupt".into());
    assert_eq!(run.result.unwrap(), ["CR-2007", "CR-2004", "CR-2012"]);
    assert_eq!(*cleaned.borrow(), ["other"]);
}
