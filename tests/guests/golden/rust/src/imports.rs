//! Calls of imports without the SDK in between, which would not let most of them pass.

use cruster::Value;
use cruster::prelude::*;

use crate::Seen;

/// A call of an import.
#[derive(Serialize, Deserialize, Schema)]
pub struct Call {
    /// The body is the head, zeros, and the tail.
    fill: i64,
    head: Bytes,
    import: String,
    tail: Bytes,
    /// How often it is made, at most; it ends with a refusal.
    times: i64,
}

macro_rules! imports {
    ($($name:ident),*) => {
        #[cfg(target_family = "wasm")]
        mod host {
            #[link(wasm_import_module = "cruster")]
            unsafe extern "C" {
                pub(super) fn input(ptr: *mut u8);
                pub(super) fn cancel(op: u32);
                $(pub(super) fn $name(ptr: *const u8, len: usize) -> i32;)*
            }
        }

        #[cfg(target_family = "wasm")]
        fn call(import: &str, body: &[u8]) -> std::result::Result<u32, Vec<u8>> {
            let n = match import {
                // SAFETY: the host reads the body while the call lasts.
                $(stringify!($name) => unsafe { host::$name(body.as_ptr(), body.len()) },)*
                _ => return Err(Vec::new()),
            };
            u32::try_from(n).map_err(|_| {
                let mut refusal = vec![0; n.unsigned_abs() as usize];
                // SAFETY: the host writes as many bytes as it said.
                unsafe { host::input(refusal.as_mut_ptr()) };
                refusal
            })
        }
    };
}

imports!(
    sleep,
    activity,
    deferred,
    resolve,
    call,
    send,
    poll,
    patched,
    interrupted,
    tx_exec,
    tx_query,
    http,
    http_all,
    config
);

#[cfg(target_family = "wasm")]
fn cancel(op: u32) {
    // SAFETY: it takes a number.
    unsafe { host::cancel(op) }
}

#[cfg(not(target_family = "wasm"))]
fn call(_import: &str, _body: &[u8]) -> std::result::Result<u32, Vec<u8>> {
    Err(Vec::new())
}

#[cfg(not(target_family = "wasm"))]
fn cancel(_op: u32) {}

impl Seen {
    /// Makes calls, gives up the ops that were taken, and adds the refusals as the host wrote them.
    pub(crate) fn refusals(&mut self, calls: Vec<Call>) {
        for c in calls {
            let mut body = c.head.into_vec();
            body.resize(body.len() + usize::try_from(c.fill).unwrap_or(0), 0);
            body.extend(c.tail.into_vec());
            let mut taken = Vec::new();
            let mut refusal = Vec::new();
            for _ in 0..c.times {
                match call(&c.import, &body) {
                    Ok(op) => taken.push(op),
                    Err(e) => {
                        refusal = e;
                        break;
                    }
                }
            }
            taken.iter().copied().for_each(cancel);
            let count = i64::try_from(taken.len()).unwrap_or(0);
            self.add(
                &format!("refusal of {}", c.import),
                Value::List(vec![count.into(), Bytes::from(refusal).into()]),
            );
        }
    }

    /// Grows the memory up to the limit of so many pages, and not beyond it.
    #[cfg(target_family = "wasm")]
    pub(crate) fn memory(&mut self, limit: i64) {
        use core::arch::wasm32::{memory_grow, memory_size};
        let limit = usize::try_from(limit).unwrap_or(0);
        let grows = |pages| memory_grow::<0>(pages) != usize::MAX;
        let free = limit - memory_size::<0>();
        let beyond = grows(free + 1);
        let up_to = grows(free);
        let further = grows(1);
        self.add(
            "memory grows beyond the limit, up to it, further",
            Value::List([beyond, up_to, further].map(Value::from).into()),
        );
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn memory(&mut self, _limit: i64) {}
}
