//! [Charges](Billing) customers for one period after the other, for as long as they stay. A
//! workflow that runs for years continues as a new run now and then, so that its journal stays
//! short. Once a day a schedule that the module declares [adds up](Report) the income.

use cruster::Schedule;
use cruster::prelude::*;

mod billing;
mod report;

pub use billing::{
    Billing, BillingRequest, BillingResult, Cancel, ChangePlan, Charged, Customer, PERIODS_PER_RUN,
};
pub use report::Report;

cruster::module! {
    workflows: [Billing, Report],
    schedules: [
        // It is there as long as the module is deployed.
        Schedule::cron("daily", "0 3 * * *").zone("Europe/Zurich") => Report(),
    ],
    migrations: [
        Migration::new(1, "charges", "
CREATE TABLE billing_charges (
	customer TEXT NOT NULL,
	period   BIGINT NOT NULL,
	cents    BIGINT NOT NULL,
	PRIMARY KEY (customer, period)
)"),
    ],
}
