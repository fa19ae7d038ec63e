//! Published values of workflows, the runs that they continue as, and schedules.

use cruster::prelude::*;
use cruster::testing::Test;
use cruster::wire::{AttributeInfo, ScheduleInfo, StateInfo, Wire};
use cruster::{Overlap, Progress, Schedule, Value};

#[derive(Debug, PartialEq, Serialize, Deserialize, Schema, State)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Packing,
    Shipped,
}

#[derive(Serialize, Deserialize, Schema, State)]
#[state(name = "notes")]
pub struct Text(String);

#[derive(Attribute)]
pub struct Customer(String);

#[derive(Attribute)]
#[attribute(name = "cents")]
pub struct Amount(u32);

#[derive(Attribute)]
pub struct Rate(f64);

#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Word(String);

#[derive(Serialize, Deserialize, Schema, Default)]
pub struct Request {
    runs: u32,
    #[serde(default)]
    words: Vec<String>,
}

#[workflow]
pub struct Order;

#[workflow_impl(state(Stage, Text), attributes(Customer, Amount, Rate), signals(Word))]
impl Order {
    async fn execute(&self, mut request: Request) -> Result<Vec<String>, Error> {
        self.publish((Stage::Packing, Customer("ada".to_owned()), Amount(5)))?;
        let refused = [
            self.publish((Text("x".repeat(70_000)), Amount(6))),
            self.publish(Customer("x".repeat(257))),
            self.publish((Amount(7), Rate(f64::NAN))),
            self.publish(Progress::of(1, 1).note("a\nb")),
        ];
        let refused = refused.map(|r| r.unwrap_err().to_string());
        let want = [
            "CR-2005: the published state has 70013 bytes, the limit is 65536",
            "CR-2042: the text of the attribute customer has 257 bytes, the limit is 256",
            "CR-2042: the attribute rate is not a finite number",
            "CR-4001: the note of the progress is not UTF-8, or has a control character",
        ];
        assert_eq!(refused, want);
        assert_eq!(self.published::<Stage>(), Some(Stage::Packing));

        while request.words.len() < 2 {
            if let Some(word) = self.try_receive::<Word>()? {
                request.words.push(word.0);
            }
            self.sleep(Duration::from_secs(1)).await?;
        }
        if request.runs > 0 {
            self.publish(Text(format!("{} left", request.runs)))?;
            let runs = request.runs - 1;
            let words = request.words.split_off(1);
            return self.continue_as_new(Request { runs, words });
        }
        self.retract::<(Text, Customer)>()?;
        self.publish((Stage::Shipped, Progress::of(1, 1)))?;
        Ok(request.words)
    }
}

cruster::module! {
    workflows: [Order],
    schedules: [
        Schedule::cron("nightly", "0 3 * * *").zone("Europe/Zurich").jitter(Duration::from_secs(60)) => Order(Request::default()),
        Schedule::every("hourly", Duration::from_secs(3600)).overlap(Overlap::Queue) => self::Order(Request { runs: 1, words: vec![] }),
        Schedule::always("always").catch_up(Duration::from_secs(1)) => Order(Request::default()),
    ],
}

#[test]
fn what_was_published_outlives_the_runs_and_unread_words_do_too() {
    let mut test = Test::new(&MODULE);
    for word in ["a", "b", "c", "d"] {
        test = test.signal(Word(word.to_owned()));
    }
    let run = test
        .look_after(Duration::from_secs(1), |seen| {
            assert_eq!(seen.state::<Stage>(), Some(Stage::Packing));
            assert_eq!(seen.attribute::<Customer>(), Some(&Value::from("ada")));
            assert_eq!(seen.attribute::<Amount>(), Some(&Value::from(5)));
            assert!(seen.attribute::<Rate>().is_none());
        })
        .run::<Order>(Request {
            runs: 2,
            words: Vec::new(),
        });
    assert_eq!(run.result.unwrap(), ["c", "d"]);
    assert_eq!(run.earlier.len(), 2);
    for history in run.earlier.iter().chain([&run.history]) {
        history.replay().unwrap();
    }
    assert_eq!(run.published.state::<Stage>(), Some(Stage::Shipped));
    assert!(run.published.state::<Text>().is_none());
    assert_eq!(run.published.attributes.len(), 1);
    assert_eq!(run.published.progress, Some((1, 1, String::new())));
    assert!(run.unread.is_empty());
}

#[test]
fn the_manifest_has_all_of_it() {
    let manifest = MODULE.manifest();
    let workflow = &manifest.workflows.as_ref().unwrap()[0];
    let state = workflow.state.as_ref().unwrap().iter();
    let state: Vec<StateInfo> = state.map(|s| s.body().unwrap()).collect();
    assert_eq!([&state[0].name, &state[1].name], ["notes", "stage"]);
    let attributes = workflow.attributes.as_ref().unwrap().iter();
    let attributes: Vec<AttributeInfo> = attributes.map(|a| a.body().unwrap()).collect();
    let types: Vec<_> = attributes.iter().map(|a| (&*a.name, &*a.kind)).collect();
    assert_eq!(
        types,
        [
            ("cents", "number"),
            ("customer", "text"),
            ("rate", "number")
        ]
    );

    let schedules = manifest.schedules.unwrap();
    let schedules: Vec<ScheduleInfo> = schedules.iter().map(|s| s.body().unwrap()).collect();
    let [always, hourly, nightly] = &schedules[..] else {
        panic!("{} schedules", schedules.len());
    };
    assert!(always.always && always.catch_up == 1_000_000_000);
    assert_eq!(
        (hourly.every, &*hourly.overlap),
        (3_600_000_000_000, "queue")
    );
    assert_eq!(
        (&*nightly.cron, &*nightly.zone),
        ("0 3 * * *", "Europe/Zurich")
    );
    assert_eq!(
        (nightly.jitter, &*nightly.workflow),
        (60_000_000_000, "Order")
    );
    let input = Value::decode(hourly.input.as_ref().unwrap()).unwrap();
    assert!(matches!(input, Value::Map(fields) if fields[0].1 == Value::from(1)));
}
