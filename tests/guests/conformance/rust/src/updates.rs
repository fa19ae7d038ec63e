//! Workflows that take updates.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use cruster::prelude::*;

use crate::deferreds::GATE;

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = i64, validated)]
pub struct Add(pub i64);

/// Says what to add, and what to wait for: the gate, or a sleep.
#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = i64)]
pub struct Slow {
    pub add: i64,
    pub wait: String,
}

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = String)]
pub struct Finish;

/// Adds numbers on request until it is told to finish, behind the gate if it is asked to wait, and
/// returns the sums in their order.
#[workflow]
pub struct Updated;

/// The sum, and the earlier ones.
#[derive(Default)]
struct Sums {
    sum: Cell<i64>,
    all: RefCell<Vec<i64>>,
}

impl Sums {
    fn add(&self, n: i64) -> i64 {
        self.sum.set(self.sum.get() + n);
        self.all.borrow_mut().push(self.sum.get());
        self.sum.get()
    }
}

#[workflow_impl(updates(Add, Slow, Finish), deferreds(GATE))]
impl Updated {
    async fn execute(&self, late: bool) -> Result<Vec<i64>> {
        if late {
            self.await_deferred(GATE).await?;
        }
        let (sums, finished) = (Rc::new(Sums::default()), Rc::new(Cell::new(false)));

        self.check_update(|add: &Add| match add.0 < 0 {
            true => Err(cruster::err!("negative", "{} is below zero", add.0)),
            false => Ok(()),
        });
        let adding = sums.clone();
        self.on_update(move |Add(n)| {
            let sums = adding.clone();
            async move {
                match n > 1000 {
                    true => Err(cruster::err!("too_much", "{n} is too much")),
                    false => Ok(sums.add(n)),
                }
            }
        });

        let (this, adding) = (self.clone(), sums.clone());
        self.on_update(move |slow: Slow| {
            let (this, sums) = (this.clone(), adding.clone());
            async move {
                match slow.wait.as_str() {
                    "gate" => drop(this.await_deferred(GATE).await?),
                    "an hour" => this.sleep(Duration::from_secs(3600)).await?,
                    _ => this.sleep(Duration::from_millis(1)).await?,
                }
                Ok(sums.add(slow.add))
            }
        });

        let finishing = finished.clone();
        self.on_update(move |_: Finish| {
            finishing.set(true);
            async { "bye".to_owned() }
        });
        self.until(move || finished.get()).await?;
        Ok(sums.all.take())
    }
}
