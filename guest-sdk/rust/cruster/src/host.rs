//! The host, as the SDK sees it.

use crate::wire::Fault;

/// One function of the host: a durable op or an immediate call.
///
/// Inside a module it also holds the import. Each function of the SDK refers to the one it needs.
/// So the linker drops the imports of functions that a module does not use, and the imports of a
/// module show its capabilities.
pub struct Call {
    /// The name of the import.
    pub name: &'static str,
    #[cfg(target_family = "wasm")]
    pub(crate) import: unsafe extern "C" fn(*const u8, usize) -> i32,
}

macro_rules! calls {
    ($($name:ident = $import:ident $wire:literal;)*) => {
        #[cfg(target_family = "wasm")]
        mod imports {
            #[link(wasm_import_module = "cruster")]
            unsafe extern "C" {
                $(
                    #[link_name = $wire]
                    pub(super) fn $import(ptr: *const u8, len: usize) -> i32;
                )*
            }
        }
        $(
            pub(crate) static $name: Call = Call {
                name: $wire,
                #[cfg(target_family = "wasm")]
                import: imports::$import,
            };
        )*
    };
}

calls! {
    SLEEP = sleep "sleep";
    ACTIVITY = activity "activity";
    DEFERRED = deferred "deferred";
    RESOLVE = resolve "resolve";
    CALL = call "call";
    SEND = send "send";
    POLL = poll "poll";
    INTERRUPTED = interrupted "interrupted";
    PATCHED = patched "patched";
    RECEIVE = receive "receive";
    SIGNAL = signal "signal";
    ENTITY_CALL = entity_call "entity_call";
    ENTITY_SEND = entity_send "entity_send";
    LOCK = lock "lock";
    UNLOCK = unlock "unlock";
    UPDATE = update "update";
    ANSWER = answer "answer";
    PUBLISH = publish "publish";
    INTERRUPT = interrupt "interrupt";
    TX_EXEC = tx_exec "tx_exec";
    TX_QUERY = tx_query "tx_query";
    TX_ROLLBACK = tx_rollback "tx_rollback";
    HTTP = http "http";
    HTTP_ALL = http_all "http_all";
    CONFIG = config "config";
}

#[cfg(target_family = "wasm")]
#[link(wasm_import_module = "cruster")]
unsafe extern "C" {
    #[link_name = "operation"]
    fn import_operation(index: u32) -> i32;
}

/// Tells the host which operation of an entity with a state begins; their count says that all
/// have run. It refuses no number that the SDK has. Outside a module no one is told.
pub(crate) fn begin_operation(index: usize) {
    #[cfg(target_family = "wasm")]
    // SAFETY: takes a number.
    unsafe {
        import_operation(index as u32)
    };
    #[cfg(not(target_family = "wasm"))]
    let _ = index;
}

/// Performs the calls of a module: the real host behind the imports, or a test.
pub trait Host {
    /// Asks for a durable op and returns its number, or why it was refused.
    fn issue(&self, op: &'static Call, body: &[u8]) -> Result<u32, Box<Fault>>;
    /// Says that the workflow no longer waits for the op.
    fn cancel(&self, op: u32);
    /// Performs an immediate call and returns its reply.
    fn perform(&self, call: &'static Call, body: &[u8]) -> Result<Vec<u8>, Box<Fault>>;
}
