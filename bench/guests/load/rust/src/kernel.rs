//! The computation of workload W9, as in bench/kernel/kernel.go.

pub fn sum(rounds: usize) -> u64 {
    mix(
        mix(mix(0, hash(rounds * 20_000)), sieve(rounds * 10_000)),
        mandelbrot(rounds),
    )
}

fn mix(a: u64, b: u64) -> u64 {
    (a ^ b).wrapping_mul(0x100000001b3)
}

fn hash(n: usize) -> u64 {
    let mut x: u64 = 0x9e3779b97f4a7c15;
    for _ in 0..n {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x = x.wrapping_mul(0x2545f4914f6cdd1d);
        x |= 1;
    }
    x
}

fn sieve(n: usize) -> u64 {
    let mut composite = vec![false; n];
    let mut count = 0;
    for i in 2..n {
        if composite[i] {
            continue;
        }
        count += 1;
        let mut j = i.saturating_mul(i);
        while j < n {
            composite[j] = true;
            j += i;
        }
    }
    count
}

fn mandelbrot(rows: usize) -> u64 {
    const COLUMNS: usize = 64;
    const LIMIT: usize = 200;
    let mut total = 0;
    for row in 0..rows {
        let ci = (row % COLUMNS) as f64 / COLUMNS as f64 * 2.0 - 1.0;
        for column in 0..COLUMNS {
            let cr = column as f64 / COLUMNS as f64 * 3.0 - 2.0;
            let (mut zr, mut zi) = (0.0, 0.0);
            for _ in 0..LIMIT {
                let (rr, ii) = (zr * zr, zi * zi);
                if rr + ii > 4.0 {
                    break;
                }
                (zr, zi) = (rr - ii + cr, 2.0 * zr * zi + ci);
                total += 1;
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    /// The number that the kernel in Go yields, too.
    #[test]
    fn sum_is_that_of_go() {
        assert_eq!(
            super::sum(3).to_string(),
            include_str!("../../../../kernel/testdata/sum-of-3").trim()
        );
    }
}
