//! Updates: in order, each once, with answers; and the conditions that wait for them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::Test;
use cruster::wire::UpdateInfo;

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = usize, validated)]
pub struct Push(String);

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = (), name = "close.it")]
pub struct Close;

#[workflow]
pub struct Stack;

#[workflow_impl(updates(Push, Close), key = |case: &String| case.clone(), hash = false)]
impl Stack {
    async fn execute(&self, case: String) -> Result<Vec<String>, Error> {
        let (items, closed) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(false)));
        let closing = closed.clone();
        self.on_update(move |_: Close| {
            closing.set(true);
            async {}
        });
        if case == "acting validator" {
            let this = self.clone();
            self.check_update(move |_: &Push| this.publish(cruster::Progress::of(1, 1)));
        } else {
            let seen = items.clone();
            self.check_update(move |push: &Push| match seen.borrow().contains(&push.0) {
                true => Err(cruster::err!("known", "{} is there", push.0).with_details(&1)),
                false => Ok(()),
            });
        }
        let (this, pushed) = (self.clone(), items.clone());
        self.on_update(move |Push(item)| {
            let (this, items) = (this.clone(), pushed.clone());
            async move {
                if item == "slow" {
                    this.sleep(Duration::from_secs(60)).await?;
                }
                items.borrow_mut().push(item);
                Ok(items.borrow().len())
            }
        });
        self.until(move || closed.get()).await?;
        Ok(items.take())
    }
}

/// Takes updates, and never says how.
#[workflow]
pub struct Unheard;

#[workflow_impl(updates(Close))]
impl Unheard {
    async fn execute(&self, _: ()) -> Result<(), Error> {
        self.until(|| false).await
    }
}

cruster::module! { workflows: [Stack, Unheard] }

type Answers = Rc<RefCell<Vec<String>>>;

fn push(test: Test, seconds: u64, item: &str, answers: &Answers) -> Test {
    let (answers, words) = (answers.clone(), item.to_owned());
    let tell = move |answer: Result<usize, Error>| {
        let answer = answer.map_or_else(
            |e| format!("{} {}", e.code(), e.error_type()),
            |n| n.to_string(),
        );
        answers.borrow_mut().push(format!("{words}: {answer}"));
    };
    test.update_after(Duration::from_secs(seconds), Push(item.to_owned()), tell)
}

fn close(test: Test, seconds: u64) -> Test {
    test.update_after(Duration::from_secs(seconds), Close, |answer| {
        answer.unwrap()
    })
}

#[test]
fn handlers_wait_beside_each_other() {
    let answers = Answers::default();
    let mut test = Test::new(&MODULE);
    for (at, item) in [(1, "slow"), (2, "a"), (3, "a"), (100, "late")] {
        test = push(test, at, item, &answers);
    }
    let run = close(test, 70).run::<Stack>("many".to_owned());
    assert_eq!(run.result.unwrap(), ["a", "slow"]);
    assert_eq!(
        *answers.borrow(),
        ["a: 1", "a: CR-2039 known", "slow: 2", "late: CR-2012 "]
    );
    assert_eq!(run.history.steps(), ["sleep 60s"]);
    run.history.replay().unwrap();
}

#[test]
fn an_update_that_is_under_way_at_the_end_has_no_answer() {
    let answers = Answers::default();
    let test = push(Test::new(&MODULE), 1, "slow", &answers);
    let run = close(test, 2).run::<Stack>("early".to_owned());
    assert!(run.result.unwrap().is_empty());
    assert_eq!(*answers.borrow(), ["slow: CR-2040 "]);
}

#[test]
fn a_validator_only_looks() {
    let answers = Answers::default();
    let test = push(Test::new(&MODULE), 1, "a", &answers);
    let run = close(test, 2).run::<Stack>("acting validator".to_owned());
    assert!(run.result.unwrap().is_empty());
    assert_eq!(*answers.borrow(), ["a: CR-4002 "]);
    assert_eq!(run.published.progress, None);
}

#[test]
fn an_interrupt_ends_the_wait_for_a_condition() {
    let run = Test::new(&MODULE)
        .interrupt_after(Duration::from_secs(1), "enough")
        .run::<Stack>("stopped".to_owned());
    assert!(run.result.unwrap_err().is_interrupted());
}

#[test]
fn the_manifest_has_them_sorted_and_typed() {
    let workflows = MODULE.manifest().workflows.unwrap();
    let updates = workflows[0].updates.as_ref().unwrap();
    let updates: Vec<UpdateInfo> = updates.iter().map(|u| u.body().unwrap()).collect();
    let kind = |u: &UpdateInfo| {
        let kinds = [&u.input, &u.output].map(|s| s.as_ref().unwrap().kind.clone());
        (u.name.clone(), kinds.join(" "), u.validated)
    };
    let all: Vec<_> = updates.iter().map(kind).collect();
    assert_eq!(
        all[0],
        ("close.it".to_owned(), "struct struct".to_owned(), false)
    );
    assert_eq!(all[1], ("push".to_owned(), "string uint".to_owned(), true));
}

#[test]
fn updates_that_no_handler_takes_end_no_deadlock() {
    let run = Test::new(&MODULE).run::<Unheard>(());
    assert_eq!(run.result.unwrap_err().code(), "CR-4012");
}
