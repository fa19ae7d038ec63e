//! Runs the bank without a host.

use bank_rust::{Account, MODULE, Receipt, Transfer, TransferRequest};
use cruster::testing::Test;

fn request(from: &str, to: &str, cents: i64) -> TransferRequest {
    TransferRequest {
        transfer_id: "t".to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        cents,
    }
}

fn bank() -> Test {
    Test::new(&MODULE)
        .entity("ada", &Account { cents: 100 })
        .entity("bob", &Account { cents: 5 })
}

#[test]
fn money_is_moved() {
    let finished = bank().run::<Transfer>(request("ada", "bob", 70));
    let moved = Receipt {
        moved: true,
        from: 30,
        to: 75,
    };
    assert_eq!(finished.result.unwrap(), moved);
}

#[test]
fn what_is_not_there_is_not_moved() {
    let finished = bank().run::<Transfer>(request("ada", "bob", 101));
    let refused = Receipt {
        moved: false,
        from: 100,
        to: 5,
    };
    assert_eq!(finished.result.unwrap(), refused);

    let finished = bank().run::<Transfer>(request("ada", "ada", 1));
    let error = finished.result.unwrap_err();
    assert_eq!(error.error_type(), "invalid_transfer");
}
