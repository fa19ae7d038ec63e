//! The names of steps: a step is named by its content and the number of equal steps before it, so that
//! another step before it does not change its idempotency key.

use std::collections::BTreeSet;

use cruster::prelude::*;
use cruster::testing::Test;

#[workflow]
pub struct KeyTold;

#[workflow_impl]
impl KeyTold {
    async fn execute(&self, inserted: bool) -> Result<Vec<String>> {
        if inserted {
            self.told(99).await?;
        }
        Ok(vec![
            self.told(1).await?,
            self.told(1).await?,
            self.told(2).await?,
            self.told(1).key("k").await?,
            self.told(2).key("k").await?,
        ])
    }

    #[activity]
    async fn told(&self, _n: i64) -> Result<String> {
        Ok(self.idempotency_key().to_owned())
    }
}

cruster::module! { workflows: [KeyTold] }

#[test]
fn idempotency_keys() {
    let keys = |inserted| {
        let test = Test::new(&MODULE).execution_id("test/keys/1");
        test.run::<KeyTold>(inserted).result.unwrap()
    };
    let before = keys(false);
    assert_eq!(before, keys(true), "an inserted step shifts the others");
    // 1, in msgpack, has this hash; the kit of the Go SDK says the same.
    assert_eq!(before[0], "test/keys/1/told/4bf5122f/1");
    assert_eq!(before[1], "test/keys/1/told/4bf5122f/2");
    assert_eq!(before[3], "test/keys/1/told/k/1");
    assert_eq!(before[4], "test/keys/1/told/k/2");
    assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), 5);
}
