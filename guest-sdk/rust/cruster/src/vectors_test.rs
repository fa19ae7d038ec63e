//! The published vectors: every body of the ABI, byte for byte, both ways.

use std::path::PathBuf;

use crate::codec;
use crate::testing::{canonical, refusals, request, sha256};
use crate::value::Value;
use crate::wire::{self, Wire};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

struct Vector {
    name: String,
    bytes: Vec<u8>,
    sha256: String,
}

fn vectors() -> Vec<Vector> {
    let text = std::fs::read_to_string(repository().join("abi/testdata/vectors.json")).unwrap();
    let list: serde_json::Value = serde_json::from_str(&text).unwrap();
    let field = |v: &serde_json::Value, name: &str| v[name].as_str().unwrap().to_owned();
    list.as_array()
        .unwrap()
        .iter()
        .map(|v| Vector {
            name: field(v, "name"),
            bytes: unhex(&field(v, "hex")),
            sha256: field(v, "sha256"),
        })
        .collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
        .collect()
}

/// Decodes a body and encodes it again.
fn round_trip<T: Wire>(vector: &Vector) {
    let body = T::decode(&vector.bytes).unwrap_or_else(|e| panic!("{}: {e}", vector.name));
    assert_eq!(body.encode(), vector.bytes, "{}", vector.name);
}

#[test]
fn bodies_are_written_as_published() {
    macro_rules! bodies {
        ($vector:ident, $kind:ident: $($name:literal $body:ident)*) => {
            match $kind {
                $($name => round_trip::<wire::$body>($vector),)*
                other => panic!("there is no body {other}"),
            }
        };
    }
    let vectors = vectors();
    let mut bodies = 0;
    for v in &vectors {
        let (kind, _) = v.name.split_once('/').unwrap();
        if kind == "value" {
            continue;
        }
        bodies += 1;
        bodies! { v, kind:
            "Invocation" Invocation "Resume" Resume "Delivery" Delivery "Outcome" Outcome "Error" Fault
            "Sleep" Sleep "Activity" Activity "Retry" Retry "Deferred" Deferred "Resolve" Resolve "Call" Call
            "Poll" Poll "PollReply" PollReply "Patched" Patched "Interrupt" Interrupt "Interrupted" Interrupted "TxRollback" TxRollback "Interruption" Interruption "SQL" SQL
            "ExecReply" ExecReply "QueryReply" QueryReply "Header" Header "HTTPAll" HTTPAll "HTTPAllReply" HTTPAllReply "HTTPResult" HTTPResult
            "HTTPRequest" HTTPRequest
            "HTTPResponse" HTTPResponse "ConfigRequest" ConfigRequest "ConfigReply" ConfigReply "Schema" Schema
            "Field" Field "WorkflowInfo" WorkflowInfo "ActivityInfo" ActivityInfo "Migration" Migration
            "Manifest" Manifest "Receive" Receive "Signal" Signal "SignalInfo" SignalInfo "DeferredInfo" DeferredInfo "Query" Query "QueryInfo" QueryInfo "EntityInfo" EntityInfo
            "OperationInfo" OperationInfo "EntityCall" EntityCall "Operations" Operations
            "Continue" Continue "Lock" Lock "Unlock" Unlock "Update" Update "UpdateRequest" UpdateRequest "Answer" Answer
            "Publish" Publish "Published" Published "Progress" Progress "AttributeInfo" AttributeInfo
            "StateInfo" StateInfo "UpdateInfo" UpdateInfo "ScheduleInfo" ScheduleInfo
            "OperationsReply" OperationsReply "OperationReply" OperationReply "EntityMessage" EntityMessage
        }
    }
    assert!(bodies >= 50, "only {bodies} bodies were found");
}

#[test]
fn values_are_encoded_and_hashed_as_published() {
    for v in vectors() {
        let value = Value::decode(&v.bytes).unwrap_or_else(|e| panic!("{}: {e}", v.name));
        assert_eq!(value.encode(), v.bytes, "{}", v.name);
        assert_eq!(
            canonical::canonical(&v.bytes).unwrap(),
            v.bytes,
            "{}",
            v.name
        );
        assert_eq!(sha256::hex(&v.bytes), v.sha256, "{}", v.name);
        // The same through serde, as an application's own values go.
        let value: Value = codec::decode(&v.bytes).unwrap_or_else(|e| panic!("{}: {e}", v.name));
        assert_eq!(
            rmp_serde::to_vec_named(&value).unwrap(),
            v.bytes,
            "{}",
            v.name
        );
    }
}

/// Fields may come in any order, be absent, or be unknown.
#[test]
fn bodies_are_read_leniently() {
    let mut body = Vec::new();
    wire::put_map(&mut body, 3);
    for (name, value) in [
        ("time", Value::Int(7)),
        ("later", Value::List(vec![Value::Nil])),
        ("name", Value::Nil),
    ] {
        wire::put_str(&mut body, name);
        value.put(&mut body);
    }
    let invocation = wire::Invocation::decode(&body).unwrap();
    assert_eq!(
        invocation,
        wire::Invocation {
            time: 7,
            ..wire::Invocation::default()
        }
    );
}

#[test]
fn malformed_bodies_are_refused() {
    for v in vectors() {
        for cut in 0..v.bytes.len() {
            assert!(
                Value::decode(&v.bytes[..cut]).is_err(),
                "{} cut to {cut}",
                v.name
            );
            assert!(
                codec::decode::<Value>(&v.bytes[..cut]).is_err(),
                "{} cut to {cut}",
                v.name
            );
        }
        let longer = [&v.bytes[..], &[0xc0]].concat();
        assert!(Value::decode(&longer).is_err(), "{}", v.name);
    }
    let deep = [vec![0x91; 100], vec![0xc0]].concat();
    assert!(Value::decode(&deep).is_err());
    assert!(codec::decode::<Value>(&deep).is_err());
    assert!(wire::Interrupted::decode(&[&[0x81, 0xa1, b'x'][..], &deep].concat()).is_err());
    // A length that nothing follows must not reserve memory for it.
    assert!(Value::decode(&[0xdd, 0xff, 0xff, 0xff, 0xff]).is_err());
    assert!(Value::decode(&[0xdf, 0xff, 0xff, 0xff, 0xff]).is_err());
    assert!(Value::decode(&[0xc6, 0xff, 0xff, 0xff, 0xff]).is_err());
}

/// The test kit refuses bodies with the hosts' messages.
#[test]
fn the_kit_refuses_as_published() {
    let text = std::fs::read_to_string(repository().join("abi/testdata/refusals.json")).unwrap();
    let list: serde_json::Value = serde_json::from_str(&text).unwrap();
    let list = list.as_array().unwrap();
    assert!(list.len() > 40, "{} refusals", list.len());
    for refusal in list {
        let field = |name: &str| refusal[name].as_str().unwrap_or_default();
        let body = unhex(field("hex"));
        let refused = match field("kind") {
            "key" => refusals::check_key(String::from_utf8(body).unwrap()).map(drop),
            "value" => {
                let schema = wire::Schema::decode(&unhex(field("schema"))).unwrap();
                request::fit_schema("the value", &schema, &body).map(drop)
            }
            kind => refusals::OpLimits::default().check(kind, &body),
        };
        let fault = refused.expect_err(field("name"));
        let got = (fault.code, fault.message, fault.hint);
        let want = ["code", "message", "hint"].map(|name| field(name).to_owned());
        assert_eq!(got, want.into(), "{} {}", field("kind"), field("name"));
    }
}
