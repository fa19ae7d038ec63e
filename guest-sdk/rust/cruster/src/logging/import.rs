//! The host's log.

#[link(wasm_import_module = "cruster")]
unsafe extern "C" {
    fn log(level: i32, ptr: *const u8, len: usize);
}

/// Writes one record to the host's log.
pub(crate) fn write(level: i32, text: &str) {
    // SAFETY: the host reads the text and keeps nothing of it.
    unsafe { log(level, text.as_ptr(), text.len()) };
}
