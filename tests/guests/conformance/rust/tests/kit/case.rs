//! The cases of the table, and how one is run.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use conformance_guest::MODULE;
use conformance_guest::queries::{Act, Far, Spoil, WordsFrom};
use conformance_guest::signals::{Count, Word};
use cruster::testing::{Finished, Happening, Test};
use cruster::{Deferred, Error, HttpRequest, HttpResponse, Query, Schema, Value};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use crate::database::Tiny;
use crate::expect;
use crate::history::{deliveries, waits_before};
use crate::messages::{Open, check_published, update};
use crate::value::{Places, same, value};

/// A limit that no machine is too slow for.
const UNHURRIED: Duration = Duration::from_secs(15 * 60);

/// When all executions of the table are over.
const AFTERWARDS: Duration = Duration::from_secs(1_000_000);

const OUTSIDE: &str = "http://outside.test";

/// One workflow, started once, and its expected end. `table/case.go` explains the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    #[serde(default, rename = "why")]
    _why: String,
    workflow: String,
    #[serde(default, rename = "needs")]
    _needs: Vec<String>,
    #[serde(default)]
    only: String,
    #[serde(default)]
    input: Json,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    then: Vec<Step>,
    #[serde(default)]
    refused: String,
    #[serde(default)]
    state: String,
    #[serde(default, deserialize_with = "present")]
    want: Option<Json>,
    error: Option<Failure>,
    journal: Option<Vec<String>>,
    #[serde(default)]
    last: BTreeMap<String, Vec<String>>,
    #[serde(default, rename = "logs")]
    _logs: Vec<String>,
    #[serde(default, rename = "by_run")]
    _by_run: bool,
    #[serde(default, rename = "chancy")]
    _chancy: bool,
}

/// The expected error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    code: String,
    #[serde(default)]
    text: Json,
    #[serde(default, rename = "words")]
    _words: BTreeMap<String, String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    details: Option<Json>,
}

/// A step of a client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    #[serde(default)]
    op: String,
    delivered: Option<usize>,
    #[serde(default)]
    pending: usize,
    #[serde(default)]
    alone: Vec<String>,
    resolve: Option<String>,
    reject: Option<String>,
    interrupt: Option<String>,
    signal: Option<String>,
    query: Option<String>,
    pub update: Option<String>,
    #[serde(default)]
    later: bool,
    published: Option<Json>,
    open: Option<String>,
    #[serde(rename = "start")]
    _start: Option<String>,
    #[serde(rename = "call")]
    _call: Option<String>,
    #[serde(rename = "send")]
    _send: Option<String>,
    #[serde(default)]
    pub value: Json,
    #[serde(default)]
    pub answer: Json,
    error: Option<Rejection>,
    pub refused: Option<String>,
    #[serde(rename = "may")]
    _may: Option<String>,
    #[serde(default, rename = "one_of")]
    _one_of: Vec<Json>,
}

/// A query that no workflow answers.
#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = ())]
struct Nothing;

/// A query with an input that does not fit.
#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = (), name = "words")]
#[serde(transparent)]
struct AllWords(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rejection {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
    details: Option<Json>,
}

/// Why a kit cannot run some cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    kits: Vec<String>,
    #[serde(rename = "why")]
    _why: String,
    cases: Vec<String>,
}

/// Tells null from nothing.
fn present<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(d).map(Some)
}

/// The part of the table that the kit must pass.
pub fn for_kit() -> Vec<Case> {
    let table = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../conformance/table");
    let read = |path: PathBuf| {
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let exceptions: Vec<Exception> =
        serde_json::from_str(&read(table.join("kits.json"))).expect("kits.json");
    let left_out = |case: &Case| {
        exceptions
            .iter()
            .any(|e| e.kits.iter().any(|kit| kit == "rust") && e.cases.contains(&case.name))
    };
    let mut files: Vec<PathBuf> = fs::read_dir(table.join("cases"))
        .expect("the table is there")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    files
        .into_iter()
        .flat_map(|path| {
            serde_json::from_str::<Vec<Case>>(&read(path.clone()))
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        })
        .filter(|case| case.only.is_empty() || case.only == "rust")
        .filter(|case| !left_out(case))
        .collect()
}

impl Step {
    fn waits(&self) -> bool {
        !self.op.is_empty() || self.delivered.is_some() || self.pending > 0
    }

    /// Asks the workflow a question, and checks the answer.
    fn ask<Q: Query>(&self, test: Test, at: Duration, query: Q) -> Test {
        let refused = self.refused.clone().unwrap_or_default();
        let want = self.answer.clone();
        test.query_after(at, query, move |answer| match answer {
            Err(e) => assert_eq!(e.code(), refused, "{e}"),
            Ok(answer) => {
                let answer = serde_json::to_value(answer).expect("a value of the table");
                assert_eq!((answer, ""), (want, refused.as_str()));
            }
        })
    }
}

impl Case {
    /// Runs the case and compares its outcome with the table.
    pub fn check(&self) {
        let execution = format!(
            "conformance/{}/{}",
            self.workflow,
            self.name.replace(' ', "-")
        );
        let places = Places {
            outside: OUTSIDE,
            execution,
        };
        let open = Open::default();
        let test = self.surroundings(&places, &open);
        let run = || test.run_named(&self.workflow, &value(&self.input, &places));
        // Where a host pauses a workflow that panics, a kit passes the panic on to the test.
        let panics = self.error.as_ref().is_some_and(|e| e.code == "CR-2010");
        let finished = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(finished) => finished,
            Err(panic) => {
                let text = panic
                    .downcast_ref::<&str>()
                    .map(ToString::to_string)
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                let wanted = self.error.as_ref().map_or("", |e| text_of(&e.text));
                expect(self, panics && text.contains(wanted), text);
                return;
            }
        };
        expect(self, !panics, "the workflow did not panic");
        self.check_end(&finished, &places);
        expect(self, open.count() == 0, "updates have no answer");
        for want in self.then.iter().filter_map(|step| step.published.as_ref()) {
            check_published(want, &finished.published, &places);
        }
        if self.refused.is_empty() {
            self.check_traces(&finished);
        }
    }

    /// The resources of a host, and the steps of its client.
    fn surroundings(&self, places: &Places, open: &Open) -> Test {
        let opens: BTreeMap<String, Duration> = self
            .times()
            .zip(&self.steps)
            .filter_map(|(at, step)| step.open.clone().map(|gate| (gate, at)))
            .collect();
        let mut test = Test::new(&MODULE)
            .turn_limit(UNHURRIED)
            .transaction_limit(UNHURRIED)
            .deployment("conformance")
            .namespace("default")
            .execution_id(&places.execution)
            .sql(Tiny::default())
            .http(serve)
            .config("greeting", "hello")
            .config("empty", "")
            .config("outside", OUTSIDE)
            // It would block the process of the test.
            .stub("block", |cx, _: bool| Ok(i64::from(cx.attempt())))
            .takes_with("block", |cx, once: bool| match once && cx.attempt() > 1 {
                true => Duration::ZERO,
                false => Duration::from_secs(3600),
            })
            .takes_with("pass", move |_, gate: String| opens[&gate]);
        for (at, step) in self.times().zip(&self.steps) {
            let deferred = |name: &String| Deferred::<Value>::named(name);
            let settles = step.resolve.is_some() || step.reject.is_some();
            if settles && !matches!(step.refused.as_deref(), None | Some("CR-2013")) {
                // The run would panic: the test would have a mistake.
            } else if let Some(name) = &step.resolve {
                test = test.resolve_after(at, deferred(name), value(&step.value, places));
            } else if let Some(name) = &step.reject {
                let rejection = step.error.as_ref().expect("a rejection has an error");
                let mut error = Error::new(&rejection.kind, &rejection.message);
                if let Some(details) = &rejection.details {
                    error = error.with_details(&value(details, places));
                }
                test = test.reject_after(at, deferred(name), error);
            } else if let (Some(name), None) = (&step.signal, &step.refused) {
                test = match (name.as_str(), &step.value) {
                    ("count", Json::Number(n)) => {
                        test.signal_after(at, Count(n.as_i64().expect("a whole number")))
                    }
                    ("word", Json::String(text)) => test.signal_after(at, Word(text.clone())),
                    other => panic!("{}: {other:?} is no signal of the guests", self.name),
                };
            } else if let Some(name) = &step.query {
                test = match (name.as_str(), &step.value) {
                    ("act", _) => step.ask(test, at, Act),
                    ("far", _) => step.ask(test, at, Far),
                    ("spoil", _) => step.ask(test, at, Spoil),
                    ("words", Json::Object(place)) => {
                        let place = place["place"].as_i64().expect("a whole number");
                        step.ask(test, at, WordsFrom { place })
                    }
                    ("words", Json::String(all)) => step.ask(test, at, AllWords(all.clone())),
                    _ => step.ask(test, at, Nothing),
                };
            } else if let Some(reason) = &step.interrupt {
                test = test.interrupt_after(at, reason);
            } else if step.update.is_some() {
                test = update(step, test, at, open);
            } else if let Some(want) = step.published.clone() {
                let places = places.clone();
                test = test.look_after(at, move |got| check_published(&want, got, &places));
            }
        }
        for step in self.then.iter().filter(|step| step.update.is_some()) {
            test = update(step, test, AFTERWARDS, open);
        }
        test
    }

    /// When the client takes its steps, in virtual time since the start. A step that waits for
    /// something comes a second later, and so does one behind an update with an answer: the
    /// workflows get there in milliseconds, and wait there for an hour.
    fn times(&self) -> impl Iterator<Item = Duration> + '_ {
        let mut answered = false;
        self.steps.iter().scan(Duration::ZERO, move |at, step| {
            *at += Duration::from_secs((step.waits() || answered).into());
            answered = step.update.is_some() && !step.later;
            Some(*at)
        })
    }

    fn check_end(&self, finished: &Finished<Value>, places: &Places) {
        let error = match &finished.result {
            Ok(got) => {
                expect(self, self.state.is_empty() && self.refused.is_empty(), {
                    format!("it completed with {got:?}")
                });
                if let Some(want) = &self.want {
                    let want = value(want, places);
                    expect(
                        self,
                        same(&want, got),
                        format!("wanted {want:?}\nbut got {got:?}"),
                    );
                }
                return;
            }
            Err(error) => error,
        };
        if !self.refused.is_empty() {
            expect(self, error.code() == self.refused, error);
            expect(
                self,
                finished.history.events.is_empty(),
                "a refused start did something",
            );
            return;
        }
        expect(self, !self.state.is_empty(), error);
        let want = self.error.as_ref().expect("a failure has an error");
        expect(self, error.code() == want.code, error);
        let interrupted = self.state == "interrupted";
        expect(self, error.is_interrupted() == interrupted, "the state");
        expect(self, error.message().contains(&text_in(want)), error);
        expect(self, !error.hint().is_empty(), "the error has no hint");
        if let Some(kind) = &want.kind {
            expect(self, error.error_type() == kind, error.error_type());
        }
        if let Some(details) = &want.details {
            let got: Option<Value> = error.details();
            let details = value(details, places);
            expect(
                self,
                got.as_ref().is_some_and(|got| same(&details, got)),
                format!("{got:?}"),
            );
        }
    }

    /// Checks the history.
    fn check_traces(&self, finished: &Finished<Value>) {
        let history = &finished.history;
        if let Some(journal) = &self.journal {
            let got = deliveries(history);
            expect(
                self,
                &got == journal,
                format!("wanted {journal:?}\nbut got {got:?}"),
            );
        }
        for (at, step) in self.times().zip(&self.steps) {
            let waits = waits_before(&finished.earlier, history, at);
            let met = (step.op.is_empty() || waits.ops.contains(&step.op))
                && step.delivered.is_none_or(|n| n == waits.delivered)
                && (step.pending == 0 || step.pending == waits.ops.len())
                && (step.alone.is_empty() || step.alone == waits.kinds);
            expect(
                self,
                met,
                format!(
                    "at {at:?} it waited for {:?} after {} deliveries",
                    waits.ops, waits.delivered
                ),
            );
        }
        let parts = ["any", "rust"].into_iter().filter_map(|l| self.last.get(l));
        for part in parts.flatten() {
            let last = history.events.last().map(|event| &event.what);
            let Some(Happening::Delivered {
                error: Some(error), ..
            }) = last
            else {
                panic!("{}: the last delivery is no error", self.name);
            };
            expect(self, error.contains(part), error);
        }
        if let Err(difference) = history.replay() {
            expect(self, false, difference);
        }
    }
}

fn text_of(text: &Json) -> &str {
    text.as_str().unwrap_or_default()
}

/// The text that the message must contain.
fn text_in(failure: &Failure) -> String {
    let nowhere = Places {
        outside: "",
        execution: String::new(),
    };
    match value(&failure.text, &nowhere) {
        Value::String(text) => text,
        _ => String::new(),
    }
}

/// Answers as the HTTP server of tests/conformance does.
fn serve(request: HttpRequest) -> cruster::Result<HttpResponse> {
    let keyed = request
        .headers
        .iter()
        .any(|(name, value)| name == "X-Key" && !value.is_empty());
    if request.url.ends_with("/missing") || !keyed {
        return Ok(HttpResponse::new(404, "not here\n"));
    }
    let mut answer = HttpResponse::new(200, "pong");
    answer.headers.push(("X-Answer".to_owned(), request.method));
    Ok(answer)
}
