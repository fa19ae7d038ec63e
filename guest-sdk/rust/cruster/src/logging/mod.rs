//! The `log` facade: records go to the host's log, or to the output of the test.

mod attrs;
#[cfg(target_family = "wasm")]
mod import;
#[cfg(not(target_family = "wasm"))]
mod output;

use log::{Level, LevelFilter, Log, Metadata, Record};

#[cfg(target_family = "wasm")]
pub(crate) use import::write;
#[cfg(not(target_family = "wasm"))]
use output::write;
#[cfg(not(target_family = "wasm"))]
pub(crate) use output::{attempt_scope, scope, silence};

/// The level of a record, as the host numbers them.
fn level_number(level: Level) -> i32 {
    match level {
        Level::Error => 8,
        Level::Warn => 4,
        Level::Info => 0,
        Level::Debug | Level::Trace => -4,
    }
}

struct HostLog;

impl Log for HostLog {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let mut attrs = attrs::Attrs::default();
        // A value that cannot be read is not there; the text is.
        let _ = record.key_values().visit(&mut attrs);
        let text = record.args().to_string();
        #[cfg(target_family = "wasm")]
        write(level_number(record.level()), &attrs.record(&text));
        #[cfg(not(target_family = "wasm"))]
        write(
            level_number(record.level()),
            (record.file(), record.line()),
            &format!("{text}{attrs}"),
        );
    }

    fn flush(&self) {}
}

/// Installs the logger, unless the program has installed its own.
pub(crate) fn init() {
    if log::set_logger(&HostLog).is_ok() {
        log::set_max_level(LevelFilter::Trace);
    }
    #[cfg(all(target_family = "wasm", not(target_os = "wasi")))]
    std::panic::set_hook(Box::new(|panic| {
        write(level_number(Level::Error), panic.to_string().as_bytes())
    }));
}
