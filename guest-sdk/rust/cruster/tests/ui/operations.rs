use cruster::prelude::*;

#[stateful_entity(max_idle_time = 3, concurrency = 0)]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Account {
    #[state]
    cents: i64,
}

// Compilers differ in how they pad line numbers.
#[operations]
impl Account {
    fn balance(&self) -> i64 {
        self.cents
    }

    #[read_only]
    fn clear(&mut self) {
        self.cents = 0;
    }

    async fn deposit(&mut self, cents: i64) -> i64 {
        self.cents + cents
    }

    fn transfer(&mut self, cx: &EntityContext, to: &str) -> Result<i64, Error> {
        cx.transaction();
        cx.sleep(Duration::from_secs(1));
        Account::client(cx, to).deposit(1).await
    }

    fn rename(&mut self, name: String, cx: &EntityContext) {}

    fn client(&mut self) {}

    fn drain(self) {}

    #[activity]
    fn pay(&mut self) {}

    #[rpc(persisted)]
    fn rpc(&mut self) {}

    fn generic<T>(&mut self, value: T) {}

    fn on_create(&mut self, cents: i64) -> i64 {
        cents
    }
}

#[stateful_entity]
fn function() {}

#[operations]
pub struct Other;

fn main() {}
