//! Values that serde buffers or encodes in unusual ways, and the text of times.

use std::collections::BTreeMap;

use cruster::prelude::*;
use cruster::testing::Test;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Stamp {
    at: Timestamp,
    #[serde(default)]
    until: Option<Timestamp>,
    raw: Bytes,
    big: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Flat {
    #[serde(flatten)]
    stamp: Stamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Stamp(Stamp),
    None,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(u64),
    Time(Timestamp),
    Stamp(Stamp),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Id(String);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct All {
    flat: Flat,
    tagged: Vec<Tagged>,
    either: Vec<Either>,
    by_id: BTreeMap<Id, u8>,
    by_number: BTreeMap<i64, char>,
    wide: (i128, u128),
}

fn all() -> All {
    let at: Timestamp = "2026-01-31T12:00:00.5Z".parse().unwrap();
    let stamp = Stamp {
        at,
        until: Some(at),
        raw: Bytes(vec![0, 255]),
        big: u64::MAX,
    };
    All {
        flat: Flat {
            stamp: stamp.clone(),
        },
        tagged: vec![Tagged::Stamp(stamp.clone()), Tagged::None],
        either: vec![Either::Number(7), Either::Time(at), Either::Stamp(stamp)],
        by_id: BTreeMap::from([(Id("a".into()), 1), (Id("ü".into()), 2)]),
        by_number: BTreeMap::from([(i64::MIN, 'x'), (3, '✓')]),
        wide: (i128::MIN, u128::MAX),
    }
}

const ALL: Deferred<All> = Deferred::new("all");
/// As it is declared: the types of this test have no schema.
const ANYTHING: Deferred<cruster::Value> = Deferred::new("all");

#[workflow]
pub struct Pass;

#[workflow_impl(deferreds(ANYTHING))]
impl Pass {
    async fn execute(&self, _: ()) -> Result<bool, Error> {
        self.resolve_deferred(ALL, all()).await?;
        Ok(self.await_deferred(ALL).await? == all())
    }
}

cruster::module! { workflows: [Pass] }

#[test]
fn values_come_back_as_they_were() {
    let passed = Test::new(&MODULE).run::<Pass>(()).result;
    assert!(passed.unwrap());
}

#[test]
fn times_have_one_zone() {
    for bad in [
        "2026-01-31T12:00:00Z01:00",
        "2026-01-31T12:00:00z+01:00",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00-01:60",
    ] {
        assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
    }
    let (a, b) = ("2026-01-31T12:00:00+01:30", "2026-01-31T10:30:00Z");
    assert_eq!(a.parse::<Timestamp>(), b.parse::<Timestamp>());
}

#[test]
fn times_are_read_as_they_are_written() {
    for nanos in [i64::MIN, -1, 0, 1_500_000_000, i64::MAX] {
        let time = Timestamp::from_unix_nanos(nanos);
        assert_eq!(time.to_string().parse(), Ok(time));
    }
    for (text, same) in [
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("2024-02-29 23:59:59", "2024-02-29T23:59:59Z"),
        ("2024-02-29t23:59:59.120z", "2024-02-29T23:59:59.12Z"),
    ] {
        assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), same);
    }
    for bad in [
        "2023-02-29",
        "2024-13-01",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:60Z",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00.1234567890Z",
        "2263-01-01",
        "24-01-01",
    ] {
        assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
    }
}
