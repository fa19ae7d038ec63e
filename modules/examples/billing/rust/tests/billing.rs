//! Runs the billing without a host, in virtual time: two centuries take seconds.

use std::cell::RefCell;
use std::rc::Rc;

use billing_rust::{
    Billing, BillingRequest, BillingResult, Cancel, ChangePlan, Charged, Customer, MODULE,
    PERIODS_PER_RUN, Report,
};
use cruster::Value;
use cruster::prelude::*;
use cruster::testing::{Rows, Test};

const HOUR: Duration = Duration::from_secs(60 * 60);
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The cost of each period, as the table has it.
type Charges = Rc<RefCell<Vec<i64>>>;

/// A test with a table of charges, in which the periods of one customer come in their order.
fn setup() -> (Test, Charges) {
    let charges = Charges::default();
    let table = charges.clone();
    let test = Test::new(&MODULE).sql(move |sql: &str, params: &[Value]| {
        let mut table = table.borrow_mut();
        if sql.starts_with("SELECT") {
            return Ok(Rows::new(["sum"]).row((table.iter().sum::<i64>(),)));
        }
        let [customer, Value::Int(number), Value::Int(cents)] = params else {
            panic!("{params:?} is not a charge");
        };
        assert_eq!(*customer, Value::from("ada"));
        assert_eq!(*number, table.len() as i64 + 1);
        table.push(*cents);
        Ok(Rows::affected(1))
    });
    (test, charges)
}

/// A customer who pays five a week.
fn weekly() -> BillingRequest {
    BillingRequest {
        customer: "ada".to_owned(),
        cents: 500,
        period_ms: WEEK.as_millis() as i64,
        ..BillingRequest::default()
    }
}

fn moved_away() -> Cancel {
    Cancel {
        reason: "moved away".to_owned(),
    }
}

/// A customer stays for 10,000 weeks, which are 191 years, and pays a cent more after each
/// thousand.
#[test]
fn a_customer_stays_for_years() {
    const PERIODS: usize = 10_000;
    let (mut test, charges) = setup();
    for thousand in 1..10 {
        let cents = 500 + i64::from(thousand);
        test = test.signal_after(1000 * thousand * WEEK - HOUR, ChangePlan { cents });
    }
    let run = test
        .signal_after((PERIODS as u32 - 1) * WEEK + HOUR, moved_away())
        .run::<Billing>(weekly());
    let want = BillingResult {
        charged: PERIODS as i64,
        reason: "moved away".to_owned(),
    };
    assert_eq!(run.result.unwrap(), want);
    assert_eq!(run.earlier.len(), PERIODS / PERIODS_PER_RUN - 1);
    assert_eq!(run.published.state::<Charged>(), Some(Charged(10_000)));
    let customer = run.published.attribute::<Customer>();
    assert_eq!(customer, Some(&Value::from("ada")));
    let charges = charges.borrow();
    let want: Vec<i64> = (0..PERIODS as i64).map(|n| 500 + n / 1000).collect();
    assert_eq!(*charges, want);
    for history in run.earlier.iter().chain([&run.history]) {
        history.replay().unwrap();
    }
}

/// Two plan changes come together. The run that they reach a moment before its end receives
/// both, and tells the next. At the very end it receives the first only: the second is unread,
/// and the next run's, which looks at it once it has charged its first period.
#[test]
fn plan_changes_at_the_end_of_a_run_are_kept() {
    for (early, first_of_next) in [(Duration::from_nanos(1), 700), (Duration::ZERO, 600)] {
        let (test, charges) = setup();
        let end = PERIODS_PER_RUN as u32 * WEEK;
        let run = test
            .signal_after(end - early, ChangePlan { cents: 600 })
            .signal_after(end - early, ChangePlan { cents: 700 })
            .signal_after(end + WEEK + HOUR, moved_away())
            .run::<Billing>(weekly());
        assert_eq!(run.result.unwrap().charged, PERIODS_PER_RUN as i64 + 2);
        assert_eq!(run.earlier.len(), 1);
        assert!(run.unread.is_empty());
        assert_eq!(charges.borrow()[PERIODS_PER_RUN..], [first_of_next, 700]);
    }
}

/// A customer leaves at the very end of a run, or a moment later.
#[test]
fn a_customer_leaves_between_two_runs() {
    for (late, earlier) in [(Duration::ZERO, 0), (Duration::from_nanos(1), 1)] {
        let (test, charges) = setup();
        let run = test
            .signal_after(PERIODS_PER_RUN as u32 * WEEK + late, moved_away())
            .run::<Billing>(weekly());
        let result = run.result.unwrap();
        assert_eq!(result.reason, "moved away");
        assert_eq!(result.charged, (PERIODS_PER_RUN + earlier) as i64);
        assert_eq!(run.earlier.len(), earlier);
        assert_eq!(charges.borrow().len(), PERIODS_PER_RUN + earlier);
    }
}

#[test]
fn a_report_adds_up() {
    let (test, charges) = setup();
    charges.borrow_mut().extend([500, 700]);
    assert_eq!(test.run::<Report>(()).result.unwrap(), 1200);
}
