// A guest that computes with floating-point numbers. The length of the input of a turn selects the work: see the cases
// of crusterResume.
package main

import "math"

const size = 96

var (
	a, b, product [size][size]float64
	small         [size][size]float32
	position      [3]float64
	sink          float64
)

func init() {
	for i := range size {
		for j := range size {
			a[i][j], b[i][j] = float64(i+j)/size, float64(i-j)/size
			small[i][j] = float32(i*j) / size
		}
	}
	position = [3]float64{1, 0.5, 0.25}
}

// multiply multiplies two matrices: loads, two operations, a store.
func multiply() {
	for i := range size {
		for j := range size {
			sum := 0.0
			for k := range size {
				sum += a[i][k] * b[k][j]
			}
			product[i][j] = sum
		}
	}
	sink += product[size-1][size-1]
}

// multiplySmall is multiply in 32 bits.
func multiplySmall() {
	var trace float32
	for i := range size {
		for j := range size {
			var sum float32
			for k := range size {
				sum += small[i][k] * small[k][j]
			}
			if i == j {
				trace += sum
			}
		}
	}
	sink += float64(trace)
}

// orbit follows a body around another: long chains of operations on few values, with divisions and roots.
func orbit() {
	velocity := [3]float64{0, 1, 0.1}
	for range 100_000 {
		distance := position[0]*position[0] + position[1]*position[1] + position[2]*position[2]
		pull := 0.001 / (distance * math.Sqrt(distance))
		for i := range position {
			velocity[i] -= pull * position[i]
			position[i] += 0.001 * velocity[i]
		}
	}
	sink += position[0]
}

func main() {}

//go:wasmexport cruster_abi
func crusterABI() int32 { return 1 }

//go:wasmexport cruster_describe
func crusterDescribe() {}

//go:wasmexport cruster_start
func crusterStart(int32) int32 { return 1 }

//go:wasmexport cruster_resume
func crusterResume(length int32) int32 {
	switch length {
	case 1:
		multiply()
	case 2:
		multiplySmall()
	case 3:
		orbit()
	}
	return 1
}
