//! SHA-256 (FIPS 180-4), for the keys of executions. A module never hashes:
//! its host does. So this stands in for the host in tests, and saves guests a
//! dependency.

/// The primes below 312, whose roots the constants come from.
const fn primes() -> [u64; 64] {
    let mut out = [0; 64];
    let (mut n, mut found) = (2, 0);
    while found < 64 {
        let mut d = 2;
        while d * d <= n && n % d != 0 {
            d += 1;
        }
        if d * d > n {
            out[found] = n;
            found += 1;
        }
        n += 1;
    }
    out
}

/// The first 32 bits of the fractional part of the square or cube root of n.
const fn root_bits(n: u64, power: u32) -> u32 {
    // The largest r with r^power <= n * 2^(32 * power): the root, scaled by 2^32.
    let (mut low, mut high) = (0u128, 1u128 << 40);
    while high - low > 1 {
        let mid = (low + high) / 2;
        let fits = match power {
            2 => mid * mid <= (n as u128) << 64,
            // mid^3 <= n * 2^96, divided by 2^32 and mid so that it stays in range.
            _ => cube_fits(mid, n),
        };
        if fits {
            low = mid;
        } else {
            high = mid;
        }
    }
    low as u32
}

/// Whether r^3 <= n * 2^96, for r below 2^36, in two halves of 128 bits.
const fn cube_fits(r: u128, n: u64) -> bool {
    let square = r * r; // below 2^72
    let (square_high, square_low) = (square >> 64, square & u64::MAX as u128);
    let low = square_low * r; // below 2^104
    let high = square_high * r + (low >> 64); // the cube is high * 2^64 + rest
    let rest = low & u64::MAX as u128;
    let limit = (n as u128) << 32; // in units of 2^64
    high < limit || high == limit && rest == 0
}

const PRIMES: [u64; 64] = primes();

const START: [u32; 8] = {
    let mut out = [0; 8];
    let mut i = 0;
    while i < 8 {
        out[i] = root_bits(PRIMES[i], 2);
        i += 1;
    }
    out
};

const ROUND: [u32; 64] = {
    let mut out = [0; 64];
    let mut i = 0;
    while i < 64 {
        out[i] = root_bits(PRIMES[i], 3);
        i += 1;
    }
    out
};

/// The hash of some bytes, in hexadecimal digits.
pub(crate) fn hex(data: &[u8]) -> String {
    let mut padded = data.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(data.len() as u64 * 8).to_be_bytes());
    let mut state = START;
    for block in padded.chunks_exact(64) {
        compress(&mut state, block);
    }
    state.iter().fold(String::with_capacity(64), |hex, word| {
        hex + &format!("{word:08x}")
    })
}

fn compress(state: &mut [u32; 8], block: &[u8]) {
    let mut w = [0u32; 64];
    for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |n, b| (n << 8) | u32::from(*b));
    }
    for i in 16..64 {
        let (a, b) = (w[i - 15], w[i - 2]);
        let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        w[i] = w[i - 16]
            .wrapping_add(s0)
            .wrapping_add(w[i - 7])
            .wrapping_add(s1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (k, w) in ROUND.iter().zip(w) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = e & f ^ !e & g;
        let t1 = h
            .wrapping_add(s1)
            .wrapping_add(choice)
            .wrapping_add(*k)
            .wrapping_add(w);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = a & b ^ a & c ^ b & c;
        let t2 = s0.wrapping_add(majority);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(add);
    }
}
