//! The host of key functions.

use crate::codes;
use crate::host::{Call, Host};
use crate::wire::Fault;

/// It has nothing to call.
pub(crate) struct KeyHost;

impl Host for KeyHost {
    fn issue(&self, call: &'static Call, _: &[u8]) -> Result<u32, Box<Fault>> {
        Err(refusal(call))
    }

    fn cancel(&self, _: u32) {}

    fn perform(&self, call: &'static Call, _: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        Err(refusal(call))
    }
}

fn refusal(call: &Call) -> Box<Fault> {
    codes::WRONG_CONTEXT.fault(format!("{} is not available in a key function", call.name))
}
