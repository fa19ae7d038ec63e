//! Techniques of workflows that live long; docs/go-and-rust.md quotes them. living.go is the same
//! in Go.

#![allow(dead_code)] // it is only read

use std::cell::Cell;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::{Progress, Schedule};

#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Till {
    cents: i64,
}

#[operations]
impl Till {
    fn put(&mut self, cents: i64) -> i64 {
        self.cents += cents;
        self.cents
    }
}

#[workflow]
pub struct Move;

#[workflow_impl]
impl Move {
    async fn execute(&self, cents: i64) -> Result<i64> {
        let section = self.lock((Till::id("front"), Till::id("back"))).await?;
        Till::client(self, "front").put(-cents).await?;
        let left = Till::client(self, "back").put(cents).await?;
        section.release().await?;
        Ok(left)
    }
}

#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = i64, validated)]
pub struct AddItem {
    pub id: String,
    pub cents: i64,
}

#[derive(Serialize, Deserialize, Schema, State)]
pub struct Stage(String);

#[derive(Attribute)]
pub struct Customer(String);

#[workflow]
pub struct Basket;

#[workflow_impl(updates(AddItem), state(Stage), attributes(Customer))]
impl Basket {
    async fn execute(&self, customer: String) -> Result<i64> {
        self.publish((Customer(customer), Stage("open".into())))?;
        let cents = Rc::new(Cell::new(0));
        self.check_update(|item: &AddItem| match item.cents < 0 {
            true => Err(cruster::err!("negative", "it costs {}", item.cents)),
            false => Ok(()),
        });
        let (this, sum) = (self.clone(), cents.clone());
        self.on_update(move |item: AddItem| {
            let (this, sum) = (this.clone(), sum.clone());
            async move {
                this.price(item.id).await?;
                sum.set(sum.get() + item.cents);
                Ok(sum.get())
            }
        });
        let sum = cents.clone();
        self.until(move || sum.get() > 1000).await?;
        self.publish(Progress::of(1, 1).note("paid"))?;
        Ok(cents.get())
    }

    #[activity]
    async fn price(&self, id: String) -> Result<i64> {
        Ok(id.len() as i64)
    }
}

#[workflow]
pub struct Billing;

#[workflow_impl]
impl Billing {
    async fn execute(&self, first: i64) -> Result<i64> {
        for month in first..120 {
            self.sleep(Duration::from_secs(30 * 24 * 60 * 60)).await?;
            if self.should_continue_as_new() {
                return self.continue_as_new(month + 1);
            }
        }
        Ok(120)
    }
}

cruster::module! {
    workflows: [Move, Basket, Billing],
    entities: [Till],
    schedules: [
        Schedule::cron("nightly", "0 3 * * *").zone("Europe/Zurich") => Billing(1),
    ],
}

fn main() {}

#[cfg(test)]
mod tests {
    use super::*;
    use cruster::testing::Test;

    #[test]
    fn updates_fill_the_basket() {
        let item = |cents| AddItem {
            id: "apple".into(),
            cents,
        };
        let run = Test::new(&MODULE)
            .update_after(Duration::from_secs(1), item(900), |sum| {
                assert_eq!(sum.unwrap(), 900)
            })
            .update_after(Duration::from_secs(2), item(-1), |sum| {
                assert_eq!(sum.unwrap_err().error_type(), "negative");
            })
            .update_after(Duration::from_secs(3), item(200), |sum| {
                assert_eq!(sum.unwrap(), 1100)
            })
            .run::<Basket>("ada".into());
        assert_eq!(run.result.unwrap(), 1100);
        assert_eq!(run.published.state::<Stage>().unwrap().0, "open");
    }

    #[test]
    fn money_is_moved_and_bills_go_on() {
        assert_eq!(Test::new(&MODULE).run::<Move>(5).result.unwrap(), 5);
        // Months enough for journals that are too long.
        let run = Test::new(&MODULE).run::<Billing>(-20_000);
        assert_eq!((run.result.unwrap(), run.earlier.len()), (120, 2));
    }
}
