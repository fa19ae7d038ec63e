//! Random numbers that are the same on every replay.

use std::ops::Range;

use crate::executor::ContextCore;

/// The random source of an execution; see
/// [`WorkflowContext::random`](crate::WorkflowContext::random). It is seeded from
/// the name of the execution, so a replay draws the same numbers.
pub struct Random {
    core: ContextCore,
}

impl Random {
    pub(crate) fn new(core: ContextCore) -> Self {
        Random { core }
    }

    /// A number of 64 random bits.
    pub fn u64(&self) -> u64 {
        self.core.draw()
    }

    /// A number from 0 to 1, without 1.
    pub fn f64(&self) -> f64 {
        (self.u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the range; all are equally likely.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    pub fn range(&self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "the range {range:?} is empty");
        let span = range.end - range.start;
        // Taking numbers from the incomplete last span would favour small results.
        let even = u64::MAX - u64::MAX % span;
        loop {
            let n = self.u64();
            if n < even {
                return range.start + n % span;
            }
        }
    }

    /// Random bytes.
    pub fn bytes(&self, n: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(n + 7);
        while out.len() < n {
            out.extend_from_slice(&self.u64().to_le_bytes());
        }
        out.truncate(n);
        out
    }

    /// A random UUID (version 4).
    pub fn uuid(&self) -> String {
        let mut n = (u128::from(self.u64()) << 64) | u128::from(self.u64());
        n = (n & !(0xf << 76)) | (0x4 << 76);
        n = (n & !(0x3 << 62)) | (0x2 << 62);
        let hex = format!("{n:032x}");
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }
}
