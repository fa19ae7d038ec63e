//! A module of many small workflows, one for each thing that an SDK promises and for each way in
//! which it can be misused: the twin of the Go package in the folder above, file by file. The tests
//! of tests/conformance run both on every store, and compare results and journals byte for byte.
//!
//! Names, requests, results and the order of durable calls are therefore the same as in the Go
//! package, also where Rust would say it another way.

pub mod bare;
mod children;
mod continued;
mod deferreds;
mod determinism;
mod entities;
mod failures;
mod futures;
mod givenup;
mod interrupts;
mod long;
mod misuse;
mod outside;
mod parallel;
pub mod published;
pub mod queries;
mod sections;
pub mod signals;
mod steps;
mod structure;
pub mod updates;
mod values;

use cruster::Value;
use cruster::prelude::*;

cruster::module! {
    workflows: [
        bare::Bare, bare::BareChild,
        children::Double, children::HashedKey, children::RawKey, children::Call, children::CallMisuse, children::CallMany,
        children::CallKeys, children::Follow, children::FollowToTheEnd, children::CallItself, children::CallWrong,
        continued::AwaitsContinued, continued::Continues, continued::ContinuesStopped, continued::ContinuesUnread,
        continued::ContinuesUpdated, continued::CountsDown,
        deferreds::Await, deferreds::AwaitAnything, deferreds::AwaitLate, deferreds::AwaitNumber, deferreds::AwaitTwice,
        deferreds::AwaitTyped, deferreds::AwaitUndeclared, deferreds::ResolveTyped,
        deferreds::ResolveOther, deferreds::ResolveOwn,
        determinism::Chance, determinism::Clock, determinism::Identity, determinism::Log, determinism::Patches,
        entities::LedgerNotes, entities::TallyErrors, entities::TallyLife, entities::TallyPasses, entities::TallyReported,
        entities::TallyReports, entities::TallySends, entities::TallySum, entities::TallyTogether, entities::TallyWatched,
        failures::Decline, failures::Fail, failures::FollowFailed, failures::Rethrow,
        futures::Futures, futures::OnInterrupt,
        givenup::AwaitsGivenUp, givenup::GiveUp, givenup::GiveUpAtItsEnd, givenup::GiveUpInterrupted, givenup::Interrupts, givenup::Tended,
        interrupts::Interruptible, interrupts::InterruptedEarly, interrupts::InterruptedWait, interrupts::Unhandled,
        long::Endures, long::Lengths,
        misuse::Misuse,
        outside::Count, outside::CountKeyed, outside::CountMany, outside::Fetch, outside::FetchAll, outside::Settings, outside::SqlKinds, outside::SqlWrong,
        parallel::All, parallel::Crowd, parallel::Due, parallel::First, parallel::Instant, parallel::Groups, parallel::Nested, parallel::Order, parallel::Race,
        parallel::Select, parallel::Sleeps, parallel::Two,
        published::Publishes, published::PublishesAndFails, published::PublishesWrong,
        queries::Nap, queries::Spoiled, queries::Track,
        sections::SectionAdds, sections::SectionEnds, sections::SectionInterrupted, sections::SectionLeft, sections::SectionShared,
        sections::Sections, sections::SectionsRefused,
        signals::Collect, signals::CollectApart, signals::CollectTwo, signals::Impatient, signals::InterruptedReceive,
        signals::Tell, signals::TellItself,
        steps::Block, steps::Crash, steps::Deadline, steps::Exhaust, steps::Idempotent, steps::Retry, steps::Sequence,
        structure::Bounded { at_once: 2 }, structure::GivenUp, structure::Slots,
        updates::Updated,
        values::Bulk, values::Echo, values::EchoTyped, values::Huge,
    ],
    entities: [entities::Ledger, entities::Tally],
    groups: [parallel::Numbers = parallel::Numbers::avoiding(13)],
    migrations: [outside::COUNTERS, outside::KINDS_SQLITE, outside::KINDS_POSTGRES],
}

/// The outcome of a call, in a form that tests can compare.
#[derive(Default, Clone, Serialize, Deserialize, Schema)]
pub struct Seen {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Absent if there was an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Turns a result into a comparable form: the message of an error only if it is the application's
/// own, as the words of hosts may change.
fn seen(result: Result<impl Into<Value>>) -> Seen {
    match result {
        Ok(value) => Seen {
            value: Some(value.into()),
            ..Seen::default()
        },
        Err(e) => Seen {
            code: e.code().to_owned(),
            kind: e.error_type().to_owned(),
            text: match e.code() {
                "" | "CR-3001" | "CR-2006" | "CR-2014" | "CR-6006" => e.to_string(),
                _ => String::new(),
            },
            value: None,
        },
    }
}

/// A value of no fixed type, as Go's `any` has it.
impl From<Seen> for Value {
    fn from(seen: Seen) -> Value {
        let texts = [
            ("code", seen.code),
            ("text", seen.text),
            ("type", seen.kind),
        ];
        let texts = texts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, text.into()));
        map(texts.chain(seen.value.map(|value| ("value", value))))
    }
}

fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Map(
        entries
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect(),
    )
}

fn list<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Value {
    Value::List(items.into_iter().map(Into::into).collect())
}

const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);
