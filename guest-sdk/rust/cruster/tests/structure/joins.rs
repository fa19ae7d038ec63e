//! Futures with a limit on how many are under way at a time.

use std::cell::Cell;

use cruster::prelude::*;
use cruster::testing::Test;
use cruster::{join_all, try_join_all};

use super::{MODULE, Trace, seconds, told};

#[derive(Serialize, Deserialize, Schema, Default)]
pub struct Mapped {
    pub items: u64,
    pub at_once: u32,
    pub fails: Option<u64>,
    /// In seconds.
    pub deadline: Option<u64>,
    pub fast: bool,
}

#[derive(Serialize, Deserialize, Schema, Debug, PartialEq)]
pub struct MapResult {
    pub out: Vec<String>,
    pub most: u32,
    pub begun: u32,
}

#[workflow]
pub struct Maps;

#[workflow_impl]
impl Maps {
    async fn execute(&self, m: Mapped) -> Result<MapResult, Error> {
        let trace = Trace::default();
        let begun = Cell::new(0);
        let double = |i: u64| {
            let (trace, begun) = (&trace, &begun);
            async move {
                let _inside = trace.enter();
                begun.set(begun.get() + 1);
                if Some(i) == m.fails {
                    return Err(Error::message_only("no"));
                }
                self.sleep(seconds(60)).await?;
                Ok(2 * i)
            }
        };
        let futures = (0..m.items).map(double);
        let limit = m.at_once as usize;
        let all = |all: Result<Vec<u64>>| match all {
            Ok(all) => all.into_iter().map(|v| v.to_string()).collect(),
            Err(e) => vec![e.to_string()],
        };
        let out = match (m.deadline, m.fast) {
            (_, true) => all(try_join_all(futures).limit(limit).await),
            (None, _) => all(join_all(futures).limit(limit).await),
            (Some(deadline), _) => {
                let settled = join_all(futures).limit(limit);
                let settled = settled.settled_by(self.sleep(seconds(deadline))).await;
                settled.into_iter().map(told).collect()
            }
        };
        assert_eq!(trace.now.get(), 0, "all are over or dropped");
        Ok(MapResult {
            out,
            most: trace.most.get() as u32,
            begun: begun.get(),
        })
    }
}

fn map(m: Mapped) -> (MapResult, Duration) {
    let run = Test::new(&MODULE).run::<Maps>(m);
    run.history.replay().unwrap();
    (run.result.unwrap(), run.history.duration())
}

#[test]
fn at_most_n_futures_are_under_way() {
    let (got, took) = map(Mapped {
        items: 7,
        at_once: 3,
        ..Mapped::default()
    });
    assert_eq!(got.out, ["0", "2", "4", "6", "8", "10", "12"]);
    assert_eq!((got.most, got.begun), (3, 7));
    assert_eq!(took, seconds(180));
}

#[test]
fn join_all_waits_for_all_and_try_join_all_for_the_first_failure() {
    let asked = |fast| Mapped {
        items: 7,
        at_once: 3,
        fails: Some(3),
        fast,
        deadline: None,
    };
    let (got, took) = map(asked(false));
    assert_eq!((got.out, got.begun), (vec!["no".to_owned()], 7));
    assert_eq!(took, seconds(120), "the fourth takes no time");

    let (got, took) = map(asked(true));
    assert_eq!((got.out, got.begun), (vec!["no".to_owned()], 4));
    assert_eq!(
        took,
        seconds(60),
        "the fourth begins when the first is done"
    );
}

#[test]
fn nothing_takes_no_time() {
    let (got, took) = map(Mapped {
        at_once: 1,
        ..Mapped::default()
    });
    assert_eq!((got.out, took), (vec![], seconds(0)));
}

#[test]
fn at_a_deadline_there_are_the_results_that_came_in_time() {
    let (got, took) = map(Mapped {
        items: 6,
        at_once: 2,
        fails: Some(1),
        deadline: Some(150),
        fast: false,
    });
    assert_eq!(got.out, ["0", "no", "4", "6", "8", "timed out"]);
    assert_eq!((got.most, took), (2, seconds(150)));

    let (got, took) = map(Mapped {
        items: 2,
        at_once: 2,
        deadline: Some(150),
        ..Mapped::default()
    });
    assert_eq!(got.out, ["0", "2"]);
    assert_eq!(took, seconds(60), "no timer is left over");
}

#[test]
fn an_interrupt_ends_a_bounded_join() {
    let asked = Mapped {
        items: 5,
        at_once: 2,
        deadline: Some(150),
        ..Mapped::default()
    };
    let test = Test::new(&MODULE).interrupt_after(seconds(90), "");
    let run = test.run::<Maps>(asked);
    let stop = "the execution was asked to stop";
    assert_eq!(run.result.unwrap().out, ["0", "2", stop, stop, stop]);
    assert_eq!(run.history.duration(), seconds(90));
}

#[test]
#[should_panic(expected = "nothing would ever be done")]
fn a_limit_of_none_is_refused() {
    map(Mapped::default());
}
