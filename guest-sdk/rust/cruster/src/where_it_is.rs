//! What the host reads when a turn does not end: the task that runs, and the last durable call
//! that it made or that was answered. `cruster_where` in `abi/ABI.md` specifies it.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::execution::Awaited;

/// A text as the host reads it: where it is, and how long.
struct Text(AtomicPtr<u8>, AtomicUsize);

impl Text {
    const fn none() -> Self {
        Text(AtomicPtr::new(std::ptr::null_mut()), AtomicUsize::new(0))
    }

    fn set(&self, text: &'static str) {
        self.0.store(text.as_ptr().cast_mut(), Relaxed);
        self.1.store(text.len(), Relaxed);
    }
}

/// The order of the fields is that of the ABI. A module has one thread; natively, tests have more,
/// and no one reads it.
#[repr(C)]
pub struct Where {
    task: AtomicU32,
    /// 0 as long as there was no call.
    line: AtomicU32,
    kind: Text,
    name: Text,
    file: Text,
}

/// Its address is what the module exports.
#[cfg_attr(target_family = "wasm", unsafe(export_name = "cruster_where"))]
pub static WHERE: Where = Where {
    task: AtomicU32::new(0),
    line: AtomicU32::new(0),
    kind: Text::none(),
    name: Text::none(),
    file: Text::none(),
};

/// A task runs.
pub(crate) fn runs(task: u64) {
    WHERE.task.store(task as u32, Relaxed);
}

/// A call was made, or has its result.
pub(crate) fn at(awaited: Awaited) {
    if let Awaited::Thing(kind, name, site) = awaited {
        WHERE.kind.set(kind);
        WHERE.name.set(name);
        WHERE.file.set(site.file());
        WHERE.line.store(site.line(), Relaxed);
    }
}
