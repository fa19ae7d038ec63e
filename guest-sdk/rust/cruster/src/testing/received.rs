//! Outcomes as they come out of a module: in canonical form, and bounded.

use crate::codec::MAX_VALUE;
use crate::codes;
use crate::testing::canonical::canonical;
use crate::wire::{Fault, Outcome};

/// The bounds of an error, in bytes.
const MAX_TEXT: usize = 16 << 10;
const MAX_TYPE: usize = 128;
const MAX_DETAILS: usize = 256 << 10;

pub(crate) fn received(outcome: Outcome) -> Outcome {
    if let Some(fault) = outcome.error {
        return Outcome::failed(clamped(fault));
    }
    if outcome.next.is_some() {
        return outcome;
    }
    let value = outcome.value.unwrap_or_default();
    if value.len() > MAX_VALUE {
        let message = format!(
            "the result has {} bytes, the limit is {MAX_VALUE}",
            value.len()
        );
        return Outcome::failed(codes::PAYLOAD_TOO_LARGE.fault(message));
    }
    canonical(&value)
        .map_err(|e| codes::BAD_BODY.fault(format!("the result is not one msgpack value: {e}")))
        .into()
}

/// The error, so short that it cannot fill journals.
fn clamped(mut fault: Box<Fault>) -> Box<Fault> {
    clamp(&mut fault.message, MAX_TEXT);
    clamp(&mut fault.hint, MAX_TEXT);
    clamp(&mut fault.kind, MAX_TYPE);
    fault.details = fault.details.filter(|details| details.len() <= MAX_DETAILS);
    fault
}

/// Cuts a text between two characters.
fn clamp(text: &mut String, limit: usize) {
    if text.len() > limit {
        let mut cut = limit - '…'.len_utf8();
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_bounded() {
        let outcome = received(Outcome::failed(Box::new(Fault {
            message: "ä".repeat(10_000),
            kind: "t".repeat(200),
            details: Some(vec![0; MAX_DETAILS + 1]),
            ..Fault::default()
        })));
        let fault = outcome.error.expect("it failed");
        assert_eq!(fault.message, "ä".repeat(8190) + "…");
        assert_eq!(fault.kind, "t".repeat(125) + "…");
        assert_eq!(fault.details, None);
    }

    #[test]
    fn values_become_canonical() {
        let outcome = received(Outcome::from(Ok(vec![0xcd, 0, 1])));
        assert_eq!(outcome.value, Some(vec![1]));
        let none = received(Outcome::default());
        assert_eq!(none.error.expect("nothing is no value").code, "CR-4001");
    }
}
