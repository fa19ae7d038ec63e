//! SHA-256 in hexadecimal digits, for the keys of executions. A module never
//! hashes: its host does, and in tests this kit stands in for the host.

use sha2::{Digest, Sha256};

/// The hash of some bytes, in hexadecimal digits.
pub(crate) fn hex(data: &[u8]) -> String {
    Sha256::digest(data)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
