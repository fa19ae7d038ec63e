// Package kernel is the computation of workload W9: integers, memory and floating point, without allocation in the
// loops. The harness runs it natively, the guest in Go imports it, and the guest in Rust has it line by line. It
// imports nothing.
package kernel

// Sum runs the three parts, each in proportion to rounds, and mixes their results, so that a compiler can leave nothing
// out.
func Sum(rounds int) uint64 {
	return mix(mix(mix(0, hash(rounds*20_000)), sieve(rounds*10_000)), mandelbrot(rounds))
}

func mix(a, b uint64) uint64 { return (a ^ b) * 0x100000001b3 }

// hash is a loop of multiplications and shifts without memory.
func hash(n int) uint64 {
	x := uint64(0x9e3779b97f4a7c15)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		x *= 0x2545f4914f6cdd1d
		x |= 1
	}
	return x
}

// sieve counts primes below n: loads and stores with strides.
func sieve(n int) uint64 {
	composite := make([]bool, n)
	count := uint64(0)
	for i := 2; i < n; i++ {
		if composite[i] {
			continue
		}
		count++
		for j := i * i; j < n; j += i {
			composite[j] = true
		}
	}
	return count
}

// mandelbrot counts iterations over a grid of 64 columns: floating point. The products are converted, which keeps Go
// from fusing them with the sums: fused results differ in their last bit, and WebAssembly has no such operation.
func mandelbrot(rows int) uint64 {
	const columns, limit = 64, 200
	total := uint64(0)
	for row := range rows {
		ci := float64(row%columns)/columns*2 - 1
		for column := range columns {
			cr := float64(column)/columns*3 - 2
			zr, zi := 0.0, 0.0
			for range limit {
				rr, ii := float64(zr*zr), float64(zi*zi)
				if rr+ii > 4 {
					break
				}
				zr, zi = rr-ii+cr, float64(2*zr*zi)+ci
				total++
			}
		}
	}
	return total
}
