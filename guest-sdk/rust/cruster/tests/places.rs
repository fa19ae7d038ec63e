//! What happens when the workflow reaches a place, in contrast to a time.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::Test;

#[derive(Debug, Serialize, Deserialize, Schema, Signal)]
#[signal(name = "word")]
pub struct Word(String);

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = usize)]
pub struct Count;

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = usize)]
pub struct Add(String);

const APPROVED: Deferred<bool> = Deferred::new("approved");

/// Performs its requests, one after the other, and tells the outcomes.
#[workflow]
pub struct Walk;

#[workflow_impl(signals(Word), queries(Count), updates(Add), deferreds(APPROVED))]
impl Walk {
    async fn execute(&self, steps: Vec<String>) -> Result<Vec<String>> {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let counted = seen.clone();
        self.answer(move |_: Count| counted.borrow().len());
        let added = seen.clone();
        self.on_update(move |add: Add| {
            added.borrow_mut().push(add.0);
            let n = added.borrow().len();
            async move { n }
        });
        for step in steps {
            let what = match step.as_str() {
                "word" => self.receive::<Word>().await?.0,
                "approved" => self.await_deferred(APPROVED).await?.to_string(),
                "charge" => self.charge(7).await?.to_string(),
                seconds => {
                    self.sleep(Duration::from_secs(seconds.parse()?)).await?;
                    seconds.to_owned()
                }
            };
            seen.borrow_mut().push(what);
        }
        Ok(seen.take())
    }

    #[activity]
    async fn charge(&self, n: i64) -> Result<i64> {
        Ok(n)
    }
}

/// Receives a word in each of two runs.
#[workflow]
pub struct TwoRuns;

#[workflow_impl(signals(Word))]
impl TwoRuns {
    async fn execute(&self, before: String) -> Result<String> {
        let word = self.receive::<Word>().await?.0;
        match before.is_empty() {
            true => self.continue_as_new(word),
            false => Ok(before + &word),
        }
    }
}

cruster::module! { workflows: [Walk, TwoRuns] }

fn steps(steps: &[&str]) -> Vec<String> {
    steps.iter().map(ToString::to_string).collect()
}

fn word(text: &str) -> Word {
    Word(text.to_owned())
}

#[test]
fn every_word_in_its_place() {
    let run = Test::new(&MODULE)
        .when("receive word")
        .nth(2)
        .signal(word("b"))
        .when("receive word")
        .signal(word("a"))
        .when("deferred approved")
        .resolve(APPROVED, true)
        .run::<Walk>(steps(&["word", "100", "approved", "word"]));
    assert_eq!(run.result.unwrap(), ["a", "100", "true", "b"]);
    assert_eq!(run.history.duration(), Duration::from_secs(100));
    run.history.replay().unwrap();
}

#[test]
fn a_place_is_a_kind_a_name_or_both() {
    for place in ["sleep", "sleep 5s", "5s"] {
        let run = Test::new(&MODULE)
            .when(place)
            .signal(word("early"))
            .run::<Walk>(steps(&["5", "word"]));
        assert_eq!(run.result.unwrap(), ["5", "early"], "{place}");
    }
    for place in ["activity charge", "charge", "activity"] {
        let run = Test::new(&MODULE)
            .when(place)
            .interrupt("enough")
            .run::<Walk>(steps(&["charge", "100"]));
        assert!(run.result.unwrap_err().is_interrupted(), "{place}");
        assert_eq!(run.history.duration(), Duration::ZERO);
    }
}

#[test]
fn questions_and_updates_at_a_place() {
    let told = Rc::new(RefCell::new(Vec::new()));
    let tell = |what: &'static str| {
        let told = told.clone();
        move |n: Result<usize>| told.borrow_mut().push((what, n.unwrap()))
    };
    let run = Test::new(&MODULE)
        .when("sleep 2s")
        .query(Count, tell("query"))
        .when("sleep 2s")
        .update(Add("added".to_owned()), tell("update"))
        .when("approved")
        .reject(APPROVED, cruster::err!("no", "not today"))
        .when("charge")
        .look(|published| assert!(published.state.is_empty()))
        .run::<Walk>(steps(&["1", "charge", "2", "approved"]));
    assert_eq!(run.result.unwrap_err().message(), "not today");
    assert_eq!(*told.borrow(), [("query", 2), ("update", 3)]);
}

#[test]
fn runs_count_on() {
    let run = Test::new(&MODULE)
        .when("receive word")
        .signal(word("a"))
        .when("receive word")
        .nth(2)
        .signal(word("b"))
        .run::<TwoRuns>(String::new());
    assert_eq!(run.result.unwrap(), "ab");
}

#[test]
#[should_panic(
    expected = r#"the workflow did not reach "receive word" 2 times, but 1; it reached: receive word, sleep 5s"#
)]
fn a_place_that_is_not_reached_fails_the_test() {
    let test = Test::new(&MODULE).when("word").signal(word("a"));
    let test = test.when("receive word").nth(2).signal(word("b"));
    let _ = test.run::<Walk>(steps(&["word", "5"]));
}

#[test]
#[should_panic(expected = r#"the workflow did not reach "sleep"; it reached: nothing"#)]
fn a_workflow_without_places() {
    let _ = Test::new(&MODULE)
        .when("sleep")
        .interrupt("")
        .run::<Walk>(steps(&[]));
}
