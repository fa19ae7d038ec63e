//! Where a panic happened. A host knows it from the log of the module; the kit from
//! the panic hook.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a closure; if it panics, the error is the place and the message.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    watch();
    PLACE.take();
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let place = PLACE.take().unwrap_or("an unknown place".to_owned());
        format!("panicked at {place}: {}", words(&*panic))
    })
}

/// Notes the places of panics from now on. The previous hook still runs.
fn watch() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if let Some(at) = panic.location() {
                PLACE.set(Some(format!("{}:{}", at.file(), at.line())));
            }
            before(panic);
        }));
    });
}

fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or(panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_placed() {
        assert_eq!(caught(|| 1), Ok(1));
        let text = caught(|| panic!("told {}", "to")).unwrap_err();
        assert!(text.starts_with("panicked at "), "{text}");
        assert!(text.contains("panics.rs:"), "{text}");
        assert!(text.ends_with(": told to"), "{text}");
    }
}
