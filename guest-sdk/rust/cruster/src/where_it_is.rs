//! Where the author's code is: the task that runs, and the last durable call that it made or that was
//! answered. The host reads it when a turn does not end (`cruster_where` in `abi/ABI.md` specifies it),
//! and so does the test kit.

use crate::awaited::Awaited;

/// A task runs; near is the last line of the author's that is known of it.
pub(crate) fn runs(task: u64, near: Option<Awaited>) {
    place::runs(task);
    if let Some(near) = near {
        at(near);
    }
}

/// A call was made, or has its result.
pub(crate) fn at(awaited: Awaited) {
    if let Awaited::Thing(kind, name, site) = awaited {
        place::at(kind, name, site);
    }
}

#[cfg(target_family = "wasm")]
mod place {
    use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::Relaxed};

    use crate::awaited::Site;

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

    /// The fields are in the order of the ABI.
    #[repr(C)]
    pub struct Where {
        task: AtomicU32,
        /// 0 as long as there was no call.
        line: AtomicU32,
        kind: Text,
        name: Text,
        file: Text,
    }

    /// The module exports its address.
    #[unsafe(export_name = "cruster_where")]
    pub static WHERE: Where = Where {
        task: AtomicU32::new(0),
        line: AtomicU32::new(0),
        kind: Text::none(),
        name: Text::none(),
        file: Text::none(),
    };

    pub(super) fn runs(task: u64) {
        WHERE.task.store(task as u32, Relaxed);
        WHERE.line.store(0, Relaxed);
    }

    pub(super) fn at(kind: &'static str, name: &'static str, site: Site) {
        WHERE.kind.set(kind);
        WHERE.name.set(name);
        WHERE.file.set(site.file());
        WHERE.line.store(site.line(), Relaxed);
    }
}

/// In tests each thread has a place, which another one reads.
#[cfg(not(target_family = "wasm"))]
mod place {
    use std::sync::{Arc, Mutex, PoisonError};

    use crate::awaited::{Site, thing_at};

    /// Where a thread is.
    #[derive(Default)]
    pub(crate) struct Place(Mutex<Last>);

    #[derive(Default)]
    struct Last {
        task: u64,
        call: Option<(&'static str, &'static str, Site)>,
    }

    thread_local! {
        static HERE: Arc<Place> = Arc::default();
    }

    /// Where this thread is, from now on.
    pub(crate) fn here() -> Arc<Place> {
        HERE.with(Arc::clone)
    }

    impl Place {
        /// "task 1, after activity charge at src/lib.rs:57", in the words of a host.
        pub(crate) fn words(&self) -> String {
            let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match last.call {
                None => format!("task {}, before its first durable call", last.task),
                Some((kind, name, site)) => {
                    format!("task {}, after {}", last.task, thing_at(kind, name, site))
                }
            }
        }

        fn set(&self, change: impl FnOnce(&mut Last)) {
            change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    pub(super) fn runs(task: u64) {
        change(|last| *last = Last { task, call: None });
    }

    pub(super) fn at(kind: &'static str, name: &'static str, site: Site) {
        change(|last| last.call = Some((kind, name, site)));
    }

    /// Nothing is known of a thread that is ending.
    fn change(change: impl FnOnce(&mut Last)) {
        let _ = HERE.try_with(|here| here.set(change));
    }
}

#[cfg(not(target_family = "wasm"))]
pub(crate) use place::{Place, here};
