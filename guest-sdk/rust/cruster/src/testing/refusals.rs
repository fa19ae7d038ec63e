//! The ops that the host refuses to issue. A history does not record them, so a
//! replay has to refuse them again.

use crate::codes;
use crate::testing::canonical::canonical;
use crate::wire::{self, Binary, Fault, Malformed, Wire};

/// Checks an op by the rules of the host.
pub(crate) fn check(kind: &str, body: &[u8]) -> Result<(), Box<Fault>> {
    examine(kind, body).map_err(|e| codes::BAD_BODY.fault(e.to_string()))
}

fn examine(kind: &str, body: &[u8]) -> Result<(), Malformed> {
    match kind {
        "activity" => {
            let body = wire::Activity::decode(body)?;
            is_text(&body.key, "the key has a control character")?;
            is_value(&body.input)
        }
        "resolve" => {
            let body = wire::Resolve::decode(body)?;
            is_text(&body.execution, NO_NAME)?;
            is_value(&body.value)
        }
        "call" | "send" => {
            let body = wire::Call::decode(body)?;
            is_text(&body.workflow, NO_NAME)?;
            if !["", "abandon", "cancel", "terminate"].contains(&body.on_cancel.as_str()) {
                return Err(Malformed("on_cancel is not a policy"));
            }
            is_value(&body.input)
        }
        "signal" => {
            let body = wire::Signal::decode(body)?;
            is_text(&body.execution, NO_NAME)?;
            is_value(&body.value)
        }
        "entity_call" | "entity_send" => {
            let body = wire::EntityMessage::decode(body)?;
            is_text(&body.entity, NO_NAME)?;
            is_value(&body.input)
        }
        "lock" => {
            let entities = wire::Lock::decode(body)?.entities;
            if !(1..=32).contains(&entities.len()) {
                return Err(Malformed("1 to 32 entities can be locked together"));
            }
            entities.iter().try_for_each(|name| is_text(name, NO_NAME))
        }
        "interrupt" => {
            let body = wire::Interrupt::decode(body)?;
            if body.reason.len() > 4096 {
                return Err(Malformed("the reason is longer than 4096 bytes"));
            }
            is_text(&body.execution, NO_NAME)
        }
        "patched" => is_text(&wire::Patched::decode(body)?.id, NO_NAME),
        "poll" => is_text(&wire::Poll::decode(body)?.execution, NO_NAME),
        _ => Ok(()),
    }
}

const NO_NAME: &str = "a name of a workflow or execution is too long, or has a control character";

fn is_text(text: &str, otherwise: &'static str) -> Result<(), Malformed> {
    if text.len() > 1024 || text.contains(char::is_control) {
        return Err(Malformed(otherwise));
    }
    Ok(())
}

/// Whether there is nothing, or one value that has a canonical form.
fn is_value(data: &Binary) -> Result<(), Malformed> {
    data.as_deref().map_or(Ok(()), |b| canonical(b).map(|_| ()))
}
