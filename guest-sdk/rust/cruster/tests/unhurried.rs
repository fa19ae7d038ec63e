//! Limits that no machine is too slow for.

use cruster::Module;
use cruster::prelude::*;
use cruster::testing::Test;

const UNHURRIED: Duration = Duration::from_secs(15 * 60);

/// A test whose turns and transactions may take long in real time.
pub fn unhurried(module: &'static Module) -> Test {
    Test::new(module)
        .turn_limit(UNHURRIED)
        .transaction_limit(UNHURRIED)
}
