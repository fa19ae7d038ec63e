//! The host's log.

#[link(wasm_import_module = "cruster")]
unsafe extern "C" {
    fn log(level: i32, ptr: *const u8, len: usize);
}

/// Writes one record to the host's log: a text, perhaps with attributes.
pub(crate) fn write(level: i32, record: &[u8]) {
    // SAFETY: the host reads the record and keeps nothing of it.
    unsafe { log(level, record.as_ptr(), record.len()) };
}
