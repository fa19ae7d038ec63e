//! Runs the limiter without a host.

use cruster::testing::Test;
use limiter_rust::{Decision, Limit, Limiter, MODULE};

#[test]
fn permits_are_taken_all_or_none() {
    let limiters = Test::new(&MODULE).entities();
    let ada = Limiter::client(&limiters, "ada");
    let limit = Limit {
        capacity: 3,
        every_ms: 3_600_000,
    };
    assert!(ada.configure(limit).call().unwrap());
    let allowed = |left| Decision {
        allowed: true,
        left,
        retry_after_ms: 0,
    };
    assert_eq!(ada.take(2).call().unwrap(), allowed(1));
    let refused = ada.take(2).call().unwrap();
    assert!(!refused.allowed);
    assert_eq!(refused.left, 1);
    assert!((1..=3_600_000).contains(&refused.retry_after_ms));
    assert_eq!(ada.take(1).call().unwrap(), allowed(0));

    let bob = Limiter::client(&limiters, "bob");
    assert_eq!(bob.take(10).call().unwrap(), allowed(0));

    let error = ada.take(4).call().unwrap_err();
    assert_eq!(error.error_type(), "invalid_number");
}

#[test]
fn permits_come_back() {
    let mut limiter = Limiter {
        capacity: 3,
        every_ms: 100,
        taken: 3,
        updated_ms: 1000,
    };
    limiter.refill(1250);
    assert_eq!((limiter.taken, limiter.updated_ms), (1, 1200));
    limiter.refill(1299);
    assert_eq!(limiter.taken, 1);
    limiter.refill(1300);
    assert_eq!(limiter.taken, 0);
    limiter.refill(9999);
    assert_eq!(limiter.taken, 0);
}
