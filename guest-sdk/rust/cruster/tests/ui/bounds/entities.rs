use cruster::prelude::*;

#[stateful_entity(migrate(to_words, to_cents))]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Account {
    cents: i64,
}

fn to_words(old: i64) -> String {
    old.to_string()
}

fn to_cents(old: i64) -> Account {
    Account { cents: old }
}

#[operations]
impl Account {
    fn deposit(&mut self, cents: i64) -> i64 {
        self.cents += cents;
        self.cents
    }
}

#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Plain;

#[operations]
impl Plain {
    fn touch(&mut self) {}
}

fn elsewhere() {
    Account::client(&7, "ada").deposit(1);
}

fn main() {}
