//! The exports that the host calls, and the host behind the imports.

use std::cell::RefCell;
use std::rc::Rc;

use crate::codes;
use crate::execution::Execution;
use crate::host::{Call, Host};
use crate::logging;
use crate::module::{Module, Started};
use crate::owner::make_early;
use crate::wire::{Fault, Invocation, Outcome, Query, Resume, Wire};

#[link(wasm_import_module = "cruster")]
unsafe extern "C" {
    #[link_name = "input"]
    fn import_input(ptr: *mut u8);
    #[link_name = "output"]
    fn import_output(ptr: *const u8, len: usize);
    #[link_name = "cancel"]
    fn import_cancel(op: u32);
}

const PARKED: i32 = 1;
const DONE: i32 = 0;

thread_local! {
    /// The workflow of this instance between two turns. An instance serves one
    /// invocation.
    static RUNNING: RefCell<Option<Execution>> = const { RefCell::new(None) };
}

/// Makes the values all instances begin with, and returns the version of the ABI.
pub fn abi(module: &Module) -> i32 {
    logging::init();
    make_early(module.given());
    1
}

/// Gives the host the manifest.
pub fn describe(module: &Module) {
    give(&module.manifest().encode());
}

/// Begins an invocation.
pub fn start(module: &Module, len: usize) -> i32 {
    let invocation = match Invocation::decode(&take(len)) {
        Ok(invocation) => invocation,
        Err(e) => return finish(malformed(format!("the invocation does not decode: {e}"))),
    };
    match module.start(Rc::new(WasmHost), invocation) {
        Started::Over(outcome) => finish(outcome),
        Started::Workflow(execution) => proceed(execution),
    }
}

/// Continues a workflow.
pub fn resume(len: usize) -> i32 {
    let resume = match Resume::decode(&take(len)) {
        Ok(resume) => resume,
        Err(e) => return finish(malformed(format!("the deliveries do not decode: {e}"))),
    };
    let Some(execution) = RUNNING.take() else {
        let message = "cruster_resume was called with no workflow under way";
        return finish(Outcome::failed(codes::GUEST_PROTOCOL.fault(message)));
    };
    execution.resume(resume);
    proceed(execution)
}

/// Answers a question. The host asks a copy of the instance, which has no further turn.
pub fn query(len: usize) -> i32 {
    let query = match Query::decode(&take(len)) {
        Ok(query) => query,
        Err(e) => return finish(malformed(format!("the query does not decode: {e}"))),
    };
    let answer = RUNNING.with_borrow(|running| Some(running.as_ref()?.query(&query)));
    finish(answer.unwrap_or_else(|| {
        let message = "cruster_query was called with no workflow under way";
        Outcome::failed(codes::GUEST_PROTOCOL.fault(message))
    }))
}

/// Refuses a question to a module that answers none.
pub fn no_queries() -> i32 {
    finish(Outcome::failed(
        codes::UNKNOWN_QUERY.fault("the module answers no queries"),
    ))
}

/// Keeps the workflow for its next turn, unless it has ended.
fn proceed(execution: Execution) -> i32 {
    if let Some(outcome) = execution.outcome() {
        // The instance goes away as a whole: nothing needs to be dropped.
        std::mem::forget(execution);
        return finish(outcome);
    }
    if execution.stuck() {
        deadlock(&execution.waits());
    }
    RUNNING.set(Some(execution));
    PARKED
}

/// Aborts the module with the text by which the host recognises a deadlock. If it
/// parked instead, the execution would wait for ever without a reason to show.
fn deadlock(waits: &[String]) -> ! {
    const WORDS: &str = "fatal error: all tasks are asleep - deadlock!";
    for line in std::iter::once(WORDS).chain(waits.iter().map(String::as_str)) {
        if cfg!(target_os = "wasi") {
            eprintln!("{line}");
        } else {
            logging::write(8, line.as_bytes());
        }
    }
    std::process::abort()
}

fn finish(outcome: Outcome) -> i32 {
    give(&outcome.encode());
    DONE
}

fn malformed(message: String) -> Outcome {
    Outcome::failed(codes::BAD_BODY.fault(message))
}

/// Fetches the pending input of `len` bytes.
fn take(len: usize) -> Vec<u8> {
    let mut b = vec![0; len];
    if len > 0 {
        // SAFETY: the host writes exactly the `len` bytes that are pending.
        unsafe { import_input(b.as_mut_ptr()) };
    }
    b
}

/// Gives bytes to the host.
fn give(b: &[u8]) {
    // SAFETY: the host reads the slice and keeps nothing of it.
    unsafe { import_output(b.as_ptr(), b.len()) };
}

/// The host behind the imports.
struct WasmHost;

impl Host for WasmHost {
    fn issue(&self, op: &'static Call, body: &[u8]) -> Result<u32, Box<Fault>> {
        match invoke(op, body) {
            n if n > 0 => Ok(n as u32),
            n => Err(refusal(op.name, n)),
        }
    }

    fn cancel(&self, op: u32) {
        // SAFETY: takes a number.
        unsafe { import_cancel(op) };
    }

    fn perform(&self, call: &'static Call, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        match invoke(call, body) {
            n if n >= 0 => Ok(take(n as usize)),
            n => Err(refusal(call.name, n)),
        }
    }
}

fn invoke(call: &Call, body: &[u8]) -> i32 {
    // SAFETY: the host reads the body and keeps nothing of it.
    unsafe { (call.import)(body.as_ptr(), body.len()) }
}

/// Fetches the error that a result of -n announces.
fn refusal(name: &str, n: i32) -> Box<Fault> {
    Fault::decode(&take(n.unsigned_abs() as usize))
        .map(Box::new)
        .unwrap_or_else(|e| {
            codes::GUEST_PROTOCOL.fault(format!(
                "the host refused {name} for a reason that does not decode: {e}"
            ))
        })
}
