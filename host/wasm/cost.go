package wasm

import "github.com/cruster/cruster/host/wasm/binary"

// The peak memory of a compilation, as measured: a module of Go with 5 MiB takes 98 MiB, one of
// 400,000 empty functions with 1.5 MiB takes 124 MiB, one of 131,072 entries of a table with 128
// KiB takes 18 MiB.
const (
	compileBytesPerByte     = 20
	compileBytesPerFunction = 320
	compileBytesPerElement  = 160 // of a table that is filled on demand
)

// CompileCost estimates the bytes of memory for compiling a binary and for the instance that
// describes it. A malformed binary is refused early, and costs little.
func CompileCost(content []byte) int64 {
	cost := int64(len(content)) * compileBytesPerByte
	if m, err := binary.Parse(content); err == nil {
		cost += int64(
			m.Functions(),
		)*compileBytesPerFunction + int64(m.Elements())*compileBytesPerElement + m.MemoryFromTheStart()
	}
	return cost
}
