//! Queries: the answers of a workflow while it waits.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use cruster::WorkflowContext;
use cruster::prelude::*;
use cruster::testing::{Finished, Test};
use cruster::wire::QueryInfo;

/// How many of so many are done?
#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = String, name = "progress")]
pub struct GetProgress {
    of: u32,
}

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = Vec<Option<u64>>)]
pub struct ChangeAll;

/// Makes a durable call, in one way or another.
#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = ())]
pub struct DoIt {
    how: String,
}

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = u32)]
pub struct Unasked;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = u32, name = "progress")]
pub struct ProgressInNumbers;

#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Go;

#[workflow]
pub struct Steps;

#[workflow_impl(signals(Go), queries(GetProgress, DoIt, ChangeAll))]
impl Steps {
    async fn execute(&self, steps: u32) -> Result<Vec<Option<u64>>, Error> {
        self.minute().await?;
        let done = Rc::new(Cell::new(0));
        let all = Rc::new(RefCell::new(Vec::new()));

        self.answer(|_: GetProgress| "the first answer is replaced".to_owned());
        let seen = done.clone();
        self.answer(move |query: GetProgress| match query.of {
            0 => Err(cruster::err!("nothing", "of nothing").with_details(&seen.get())),
            9 => panic!("told to"),
            of => Ok(format!("{} of {of}", seen.get())),
        });
        let (this, changed) = (self.clone(), all.clone());
        self.answer(move |_: ChangeAll| {
            changed.borrow_mut().push(Some(this.random().u64()));
            changed.borrow().clone()
        });
        let this = self.clone();
        self.answer(move |query: DoIt| this.act(&query.how));

        for _ in 0..steps {
            self.minute().await?;
            done.set(done.get() + 1);
            all.borrow_mut().push(None);
        }
        all.borrow_mut().push(Some(self.random().u64()));
        Ok(all.take())
    }

    async fn minute(&self) -> Result<(), Error> {
        self.sleep(Duration::from_secs(60)).await
    }

    /// Makes a durable call where none can be made, and sees to it or not.
    fn act(&self, how: &str) -> Result<(), Error> {
        let once = |poll: Poll<Result<(), Error>>| match poll {
            Poll::Ready(result) => result,
            Poll::Pending => Ok(()),
        };
        let mut cx = Context::from_waker(Waker::noop());
        match how {
            "look" => Ok(()),
            "sleep" => once(pin!(self.minute()).poll(&mut cx)),
            "receive" => {
                drop(pin!(self.receive::<Go>()).poll(&mut cx));
                Ok(())
            }
            _ => {
                let this = self.clone();
                drop(self.spawn(async move { this.minute().await }));
                Ok(())
            }
        }
    }
}

/// Asks another execution from an activity.
#[workflow]
pub struct Asks;

#[workflow_impl]
impl Asks {
    async fn execute(&self, _: ()) -> Result<Vec<String>, Error> {
        let id = Steps::client(self).start(1).await?;
        let before = self.ask(id.clone()).await?;
        self.sleep(Duration::from_secs(90)).await?;
        let during = self.ask(id.clone()).await?;
        self.sleep(Duration::from_secs(90)).await?;
        Ok(vec![before, during, self.ask(id).await?])
    }

    #[activity]
    async fn ask(&self, id: String) -> Result<String, Error> {
        Ok(id)
    }
}

cruster::module! { workflows: [Steps, Asks] }

#[workflow]
pub struct TwoOfOneName;

#[workflow_impl(queries(GetProgress, ProgressInNumbers))]
impl TwoOfOneName {
    async fn execute(&self, _: ()) -> Result<(), Error> {
        Ok(())
    }
}

type Heard = Rc<RefCell<Vec<String>>>;

/// Asks at a time in seconds; notes the answer, or its code.
fn ask<Q: Query>(test: Test, heard: &Heard, at: u64, query: Q) -> Test
where
    Q::Answer: std::fmt::Debug,
{
    let heard = heard.clone();
    test.query_after(Duration::from_secs(at), query, move |answer| {
        let line = match answer {
            Ok(answer) => format!("{answer:?}"),
            Err(e) => format!("{} {}", e.code(), e.error_type()),
        };
        heard.borrow_mut().push(line.trim_end().to_owned());
    })
}

fn run(test: Test) -> Finished<Vec<Option<u64>>> {
    let run = test.run::<Steps>(2);
    run.history.replay().unwrap();
    assert_eq!(run.history.steps(), ["sleep 60s"; 3]);
    run
}

#[test]
fn the_manifest_has_them_sorted_and_typed() {
    let workflows = MODULE.manifest().workflows.unwrap();
    assert_eq!(workflows[0].queries, None);
    let encoded = workflows[1].queries.as_ref().unwrap();
    let queries: Vec<QueryInfo> = encoded.iter().map(|q| q.body().unwrap()).collect();
    let names: Vec<&str> = queries.iter().map(|q| q.name.as_str()).collect();
    assert_eq!(names, ["change_all", "do_it", "progress"]);
    let kinds = queries
        .iter()
        .map(|q| [&q.input, &q.output].map(|s| s.as_ref().unwrap().kind.as_str()));
    let wanted = [
        ["struct", "list"],
        ["struct", "struct"],
        ["struct", "string"],
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), wanted);
}

#[test]
fn the_workflow_answers_from_what_it_knows() {
    let heard = Heard::default();
    let mut test = Test::new(&MODULE);
    for at in [30, 90, 150, 200] {
        test = ask(test, &heard, at, GetProgress { of: 2 });
    }
    test = ask(test, &heard, 151, GetProgress { of: 0 });
    test = ask(test, &heard, 152, GetProgress { of: 9 });
    test = ask(test, &heard, 153, Unasked);
    test = ask(test, &heard, 154, ProgressInNumbers);
    run(test).result.unwrap();
    let wanted = [
        "CR-2036",
        "\"0 of 2\"",
        "\"1 of 2\"",
        "CR-2037 nothing",
        "CR-4007",
        "CR-2035",
        "CR-2002",
        "CR-2012",
    ];
    assert_eq!(*heard.borrow(), wanted);
}

#[test]
fn an_error_keeps_its_words_and_details() {
    let tell = |answer: Result<String>| {
        let e = answer.unwrap_err();
        assert_eq!(
            (e.message(), e.details()),
            ("of nothing".to_owned(), Some(0))
        );
    };
    let test = Test::new(&MODULE);
    run(test.query_after(Duration::from_secs(90), GetProgress { of: 0 }, tell));
}

/// The answer is given by a copy: its changes are lost.
#[test]
fn an_answer_changes_nothing() {
    let heard = Heard::default();
    let mut test = Test::new(&MODULE);
    for at in [90, 91, 150] {
        test = ask(test, &heard, at, ChangeAll);
    }
    let asked = run(test).result.unwrap();
    assert_eq!(asked, run(Test::new(&MODULE)).result.unwrap());
    let first = asked[2].unwrap();
    let wanted = [
        format!("[Some({first})]"),
        format!("[Some({first})]"),
        format!("[None, Some({first})]"),
    ];
    assert_eq!(*heard.borrow(), wanted);
}

#[test]
fn an_answer_only_looks() {
    let heard = Heard::default();
    let mut test = Test::new(&MODULE);
    for (at, how) in [(90, "look"), (91, "sleep"), (92, "spawn"), (93, "receive")] {
        let how = how.to_owned();
        test = ask(test, &heard, at, DoIt { how });
    }
    let how = "sleep".to_owned();
    test = test.query_after(Duration::from_secs(94), DoIt { how }, |answer| {
        let e = answer.unwrap_err();
        let message = "durable calls are not available in the answer to a query";
        assert_eq!(e.message(), message);
        assert!(e.hint().starts_with("A query only looks."), "{}", e.hint());
    });
    run(test).result.unwrap();
    assert_eq!(*heard.borrow(), ["()", "CR-4002", "CR-4002", "CR-4002"]);
}

#[test]
fn stubs_ask_through_the_api() {
    let test = Test::new(&MODULE);
    let api = test.api();
    let run = test
        .stub("ask", move |_, id: String| {
            let unknown = api.query("test/Steps/absent", Unasked).unwrap_err();
            assert_eq!(unknown.code(), "CR-2004");
            Ok(api
                .query(&id, GetProgress { of: 1 })
                .unwrap_or_else(|e| e.code().to_owned()))
        })
        .run::<Asks>(());
    assert_eq!(run.result.unwrap(), ["CR-2036", "0 of 1", "CR-2012"]);
}

#[test]
#[should_panic(expected = "the workflow `TwoOfOneName` has two queries named `progress`")]
fn the_queries_of_a_workflow_have_distinct_names() {
    let definition = &<TwoOfOneName as cruster::Workflow>::DEFINITION;
    let _ = cruster::Module::new(Box::leak(Box::new([definition])), &[], &[], &[], &[]);
}

/// The possible results of the closure, with few types named.
#[allow(dead_code)]
fn answers_are_inferred(cx: &WorkflowContext<TwoOfOneName>) {
    cx.answer(|_: ProgressInNumbers| 7);
    cx.answer(|_: ProgressInNumbers| Ok(7));
    cx.answer(|_: ProgressInNumbers| Ok("7".parse::<u32>()?));
    cx.answer(|query: GetProgress| {
        let n: u8 = query.of.try_into()?;
        if n == 0 {
            cruster::bail!("nothing", "of nothing");
        }
        Ok(n.to_string())
    });
}
