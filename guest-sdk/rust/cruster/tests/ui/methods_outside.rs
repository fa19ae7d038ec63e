use cruster::prelude::*;

#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Account {
    cents: i64,
}

// Compilers differ in how they pad line numbers.
impl Account {
    #[read_only]
    pub fn balance(&self) -> i64 {
        self.cents
    }

    #[rpc(persisted)]
    pub async fn deposit(&self) -> Result<i64, Error> {
        Ok(self.cents)
    }
}

fn main() {}
