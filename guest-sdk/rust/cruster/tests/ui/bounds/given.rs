//! Values that a module gives, or does not.

use cruster::prelude::*;

pub struct Gateway;

#[workflow]
pub struct NoDefault {
    gateway: Gateway,
}

#[workflow_impl]
impl NoDefault {
    async fn execute(&self, _: ()) -> Result<(), Error> {
        let _ = &self.gateway;
        Ok(())
    }
}

#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Account {
    cents: i64,
}

#[operations]
impl Account {
    #[read_only]
    fn balance(&self) -> i64 {
        self.cents
    }
}

mod without {
    use super::*;
    cruster::module! { workflows: [NoDefault] }
}

mod with_state {
    use super::*;
    cruster::module! { entities: [Account { cents: 5 }] }
}

mod no_group {
    use super::*;
    cruster::module! { workflows: [NoDefault { gateway: Gateway }], groups: [NoDefault { gateway: Gateway }] }
}

mod wrong_type {
    use super::*;
    cruster::module! { workflows: [NoDefault = Gateway] }
}

fn main() {}
