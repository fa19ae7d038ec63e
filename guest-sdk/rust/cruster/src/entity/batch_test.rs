//! Several operations in one invocation.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::entity::{Entity, EntityContext};
use crate::error::{Error, Result};
use crate::host::{Call, Host};
use crate::wire::{EntityCall, Fault, Invocation, Operations, OperationsReply, Wire};
use crate::{Schema, operations, stateful_entity};

/// An entity that cannot be cloned.
#[stateful_entity(crate = crate, migrate(to_list, to_log))]
#[derive(Default, Serialize, Deserialize, Schema)]
#[schema(crate = crate)]
struct Log {
    lines: Vec<String>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

fn to_list(old: Text) -> Vec<String> {
    old.text.lines().map(str::to_owned).collect()
}

fn to_log(lines: Vec<String>) -> Log {
    Log { lines }
}

#[operations(crate = crate)]
impl Log {
    fn on_create(&mut self, cx: &EntityContext) -> Result<()> {
        if cx.id() == "bad" {
            return Err(Error::new("bad", "no"));
        }
        self.lines.push(format!("created {}", cx.id()));
        Log::client(cx, "index").append("created".to_owned()).send()
    }

    fn append(&mut self, line: String) -> Result<usize> {
        self.lines.push(line);
        if self.lines.last().is_some_and(|line| line == "bad") {
            return Err(Error::new("bad", "not this one").with_details(&7));
        }
        Ok(self.lines.len())
    }

    fn double(&mut self, cx: &EntityContext, to: String, times: u32) -> Result<()> {
        for _ in 0..times {
            Log::client(cx, to.clone()).append(to.clone()).send()?;
        }
        self.lines.extend(self.lines.clone());
        match times {
            0 => Err(Error::new("zero", "nothing to do")),
            _ => Ok(()),
        }
    }

    fn fill(&mut self, megabytes: usize) {
        self.lines.push("x".repeat(megabytes << 20));
    }

    #[read_only]
    fn repeat(&self, times: usize) -> String {
        "x".repeat(times)
    }

    fn remove(&mut self, cx: &EntityContext) -> Result<()> {
        cx.destroy()
    }

    #[read_only]
    fn count(&self, cx: &EntityContext) -> Result<usize> {
        if self.lines.len() > 90 {
            cx.destroy()?;
        }
        Ok(self.lines.len())
    }
}

#[stateful_entity(crate = crate)]
#[derive(Default, Clone, Serialize, Deserialize, Schema)]
#[schema(crate = crate)]
struct Sum(i64);

#[operations(crate = crate)]
impl Sum {
    fn add(&mut self, n: i64) -> Result<i64> {
        self.0 += n;
        if n == 0 {
            return Err(Error::new("zero", "nothing to add"));
        }
        Ok(self.0)
    }
}

struct NoHost;

impl Host for NoHost {
    fn issue(&self, _: &'static Call, _: &[u8]) -> Result<u32, Box<Fault>> {
        unreachable!("operations issue no ops")
    }

    fn cancel(&self, _: u32) {}

    fn perform(&self, _: &'static Call, _: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        unreachable!("these operations make no calls")
    }
}

fn call(operation: &str, input: impl Serialize) -> EntityCall {
    EntityCall {
        input: Some(crate::payload::encode("it", &input).unwrap()),
        operation: operation.to_owned(),
    }
}

fn run<E: Entity>(
    id: &str,
    state: Option<Vec<u8>>,
    version: u32,
    operations: Vec<EntityCall>,
) -> Result<OperationsReply, Box<Fault>> {
    let body = Operations {
        operations,
        state,
        version,
    };
    let invocation = Invocation {
        body: Some(body.encode()),
        execution: format!("test/{}/{id}", E::NAME),
        kind: "operations".to_owned(),
        name: E::NAME.to_owned(),
        ..Invocation::default()
    };
    let outcome = (E::DEFINITION.run)(Attempt::new(Rc::new(NoHost), invocation, &[]));
    outcome
        .into_result()
        .map(|raw| OperationsReply::decode(&raw).unwrap())
}

fn log(state: Option<&Log>, operations: Vec<EntityCall>) -> (OperationsReply, Option<Vec<String>>) {
    let state = state.map(|s| crate::payload::encode("it", s).unwrap());
    let reply = run::<Log>("ada", state, 2, operations).unwrap();
    let lines = reply.state.as_deref().map(|raw| {
        let log: Log = crate::codec::decode(raw).unwrap();
        log.lines
    });
    (reply, lines)
}

fn of(lines: &[&str]) -> Log {
    let lines = lines.iter().map(|line| (*line).to_owned()).collect();
    Log { lines }
}

/// The codes of the errors; empty for values.
fn errors(reply: &OperationsReply) -> Vec<&str> {
    let replies = reply.replies.iter();
    replies
        .map(|r| r.error.as_deref().map_or("", |e| e.code.as_str()))
        .collect()
}

#[test]
fn each_operation_sees_what_the_one_before_left() {
    let operations = vec![
        call("append", "one"),
        call("append", "bad"),
        call("count", ()),
        call("append", "two"),
    ];
    let (reply, lines) = log(None, operations);
    assert_eq!(errors(&reply), ["", "CR-6006", "", ""]);
    assert_eq!(lines.unwrap(), ["created ada", "one", "two"]);
    assert_eq!(reply.version, 2);
    assert_eq!(reply.replies[2].value, Some(vec![2]));
    let fault = reply.replies[1].error.as_deref().unwrap();
    assert_eq!(
        (fault.kind.as_str(), &*fault.message),
        ("bad", "not this one")
    );
    assert_eq!(fault.details, Some(vec![7]));
    // The first has sent the messages of on_create; the others nothing.
    let sent: Vec<usize> = reply
        .replies
        .iter()
        .map(|r| r.sent.iter().flatten().count())
        .collect();
    assert_eq!(sent, [1, 0, 0, 0]);
}

#[test]
fn what_fails_has_changed_and_sent_nothing() {
    #[derive(Serialize)]
    struct Double {
        times: u32,
        to: &'static str,
    }
    let double = |times| call("double", Double { times, to: "bob" });
    let operations = vec![double(0), double(2), double(0), call("append", 7)];
    let (reply, lines) = log(Some(&of(&["a"])), operations);
    assert_eq!(errors(&reply), ["CR-6006", "", "CR-6006", "CR-6003"]);
    assert_eq!(lines.unwrap(), ["a", "a"]);
    let sent = reply.replies[1].sent.as_ref().unwrap();
    assert_eq!(sent.len(), 2);
    assert_eq!(
        (&*sent[0].entity, &*sent[0].operation),
        ("Log/bob", "append")
    );

    let reply = run::<Sum>("a", None, 0, [0, 3, 0, 4].map(|n| call("add", n)).into()).unwrap();
    assert_eq!(errors(&reply), ["CR-6006", "", "CR-6006", ""]);
    assert_eq!(reply.state, Some(vec![7]));
}

#[test]
fn nothing_changes_without_an_operation_that_does() {
    // Bytes that the SDK would not write: the host gets its own back.
    let raw = vec![0x81, 0xa5, b'l', b'i', b'n', b'e', b's', 0xdc, 0, 0];
    let operations = vec![call("count", ()), call("append", "bad"), call("other", ())];
    let reply = run::<Log>("ada", Some(raw.clone()), 2, operations).unwrap();
    assert_eq!(errors(&reply), ["", "CR-6006", "CR-6002"]);
    assert_eq!((reply.state, reply.version), (Some(raw), 2));

    let (reply, lines) = log(None, vec![call("count", ())]);
    assert_eq!(
        (reply.replies[0].value.clone(), lines),
        (Some(vec![1]), None)
    );
    assert!(reply.replies[0].sent.is_none(), "nothing of it is kept");

    let reply = run::<Log>("bad", None, 0, vec![call("append", "one")]).unwrap();
    assert_eq!(
        (errors(&reply), reply.state.clone()),
        (vec!["CR-6006"], None)
    );
}

#[test]
fn an_entity_that_was_destroyed_is_created_anew() {
    let remove = || call("remove", ());
    let (reply, lines) = log(Some(&of(&["old"])), vec![remove(), call("append", "new")]);
    assert_eq!(lines.unwrap(), ["created ada", "new"]);
    assert_eq!(errors(&reply), ["", ""]);
    let (_, lines) = log(Some(&of(&["old"])), vec![call("append", "new"), remove()]);
    assert_eq!(lines, None);
    // Not by an operation that is read-only.
    let many = of(&["line"; 91]);
    let (reply, _) = log(Some(&many), vec![call("count", ())]);
    assert_eq!(errors(&reply), ["CR-4002"]);
}

#[test]
fn old_states_are_migrated_step_by_step() {
    let append = || vec![call("append", "c")];
    let text = vec![0x81, 0xa4, b't', b'e', b'x', b't', 0xa3, b'a', b'\n', b'b'];
    let list = vec![0x92, 0xa1, b'a', 0xa1, b'b'];
    for (raw, version) in [(text, 0), (list, 1)] {
        let reply = run::<Log>("ada", Some(raw), version, append()).unwrap();
        let state: Log = crate::codec::decode(&reply.state.unwrap()).unwrap();
        assert_eq!(
            (state.lines, reply.version),
            (vec!["a".into(), "b".into(), "c".into()], 2)
        );
    }
    let newer = run::<Log>("ada", Some(vec![0x80]), 3, append()).unwrap_err();
    assert_eq!(newer.code, "CR-6008");
    let damaged = run::<Log>("ada", Some(vec![0x80]), 2, append()).unwrap_err();
    assert_eq!(damaged.code, "CR-6008");
    let begins = "the state of test/Log/ada, version 2, does not fit: ";
    assert!(damaged.message.starts_with(begins), "{}", damaged.message);
    assert!(damaged.hint.contains("migrate(") && damaged.hint.contains("#[serde(default)]"));
    assert!(newer.hint.starts_with("Push the newer module again"));
}

#[test]
fn a_batch_that_is_too_large_fails_as_a_whole() {
    let fill = |megabytes: usize| call("fill", megabytes);
    let state = crate::payload::encode("it", &of(&[])).unwrap();
    let large = run::<Log>("ada", Some(state.clone()), 2, vec![fill(1), fill(1)]).unwrap_err();
    assert_eq!(large.code, "CR-2005");
    assert!(large.message.starts_with("the state of Log takes 2097"));
    let (reply, lines) = log(Some(&of(&[])), vec![fill(1)]);
    assert_eq!(errors(&reply), [""]);
    assert_eq!(lines.unwrap()[0].len(), 1 << 20);

    let repeat = || call("repeat", 1 << 20);
    let replies = run::<Log>(
        "ada",
        Some(state),
        2,
        vec![repeat(), repeat(), repeat(), repeat()],
    );
    let replies = replies.unwrap_err();
    assert!(
        replies
            .message
            .starts_with("the reply of the operations takes 4194")
    );
}
