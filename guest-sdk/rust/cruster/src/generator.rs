//! The generator behind the random source of an execution.

/// xoshiro256**, a small generator of good quality. It keeps no secrets.
pub(crate) struct Generator([u64; 4]);

impl Generator {
    pub(crate) fn seeded(bytes: &[u8]) -> Self {
        // FNV-1a folds the bytes into one word, splitmix64 spreads it over the state.
        let mut seed = 0xcbf2_9ce4_8422_2325u64;
        for b in bytes {
            seed = (seed ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
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
