//! Random numbers that a replay draws again.

use std::ops::Range;

use crate::execution::ContextCore;

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

    /// A number of the range, all being equally likely.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    pub fn range(&self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "the range {range:?} is empty");
        let span = range.end - range.start;
        // Draws from the uneven rest at the end would favour small numbers.
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

/// xoshiro256**, a small generator of good quality. It keeps no secrets.
pub(crate) struct Generator([u64; 4]);

impl Generator {
    pub(crate) fn seeded(namespace: &str, execution: &str) -> Self {
        // FNV-1a spreads the name over the seed, splitmix64 over the state.
        let mut seed = 0xcbf2_9ce4_8422_2325u64;
        for b in namespace.bytes().chain([0]).chain(execution.bytes()) {
            seed = (seed ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut state = [0; 4];
        for word in &mut state {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = seed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *word = z ^ (z >> 31);
        }
        Generator(state)
    }

    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let out = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }
}
