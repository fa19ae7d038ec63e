package binary

import "encoding/binary"

// The bits of a NaN that an instruction computes are the one thing that the specification leaves to the processor: 0/0
// has its sign set on amd64 and not on arm64. A guest that looks at them would come to other results on another host,
// and its replay would diverge. So the result of every instruction that can make a NaN is replaced by one and the same
// NaN if it is one:
//
//	local.tee x, const NaN, local.get x, local.get x, eq, select
//
// A NaN is the only value that does not equal itself. Values that a guest moves, stores or builds
// of bits are left alone, and so are the signs of abs, neg and copysign, which are exact.

// lanes is the type of an instruction's result.
type lanes byte

const (
	noLanes lanes = iota
	lanesF32
	lanesF64
	lanesF32x4
	lanesF64x2
	numLanes
)

// makesNaN returns the type of a plain instruction's result if that may be a NaN.
func makesNaN(op byte) lanes {
	switch {
	case op >= 0x8d && op <= 0x97, op == 0xb6: // ceil to max; f32.demote_f64
		return lanesF32
	case op >= 0x9b && op <= 0xa5, op == 0xbb: // ceil to max; f64.promote_f32
		return lanesF64
	}
	return noLanes
}

// vectorMakesNaN tells it of the instructions behind the prefix for vectors.
func vectorMakesNaN(op uint32) lanes {
	switch op {
	case 0x5e, // f32x4.demote_f64x2_zero
		0x67, 0x68, 0x69, 0x6a, // ceil, floor, trunc, nearest
		0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9: // sqrt, add, sub, mul, div, min, max
		return lanesF32x4
	case 0x5f, // f64x2.promote_low_f32x4
		0x74, 0x75, 0x7a, 0x94, // ceil, floor, trunc, nearest
		0xef, 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5:
		return lanesF64x2
	}
	return noLanes
}

// typ is the type of a local that keeps the value.
func (l lanes) typ() byte {
	switch l {
	case lanesF32:
		return typeF32
	case lanesF64:
		return typeF64
	default:
		return typeV128
	}
}

// appendCanonicalNaN appends the replacement. Local is of the type of the lanes.
func appendCanonicalNaN(out []byte, l lanes, local uint64) []byte {
	out = appendU32(append(out, opLocalTee), local)
	out = append(out, nanConst[l]...)
	out = appendU32(append(out, opLocalGet), local)
	out = appendU32(append(out, opLocalGet), local)
	return append(out, nanSelect[l]...)
}

const (
	opF32Const     = 0x43
	opF64Const     = 0x44
	opF32Eq        = 0x5b
	opF64Eq        = 0x61
	opSelect       = 0x1b
	vectorConst    = 0x0c
	vectorF32Eq    = 0x41
	vectorF64Eq    = 0x47
	vectorSelect   = 0x52
	canonicalNaN32 = 0x7fc0_0000
	canonicalNaN64 = 0x7ff8_0000_0000_0000
)

// nanConst pushes a NaN.
var nanConst = [numLanes][]byte{
	lanesF32:   binary.LittleEndian.AppendUint32([]byte{opF32Const}, canonicalNaN32),
	lanesF64:   binary.LittleEndian.AppendUint64([]byte{opF64Const}, canonicalNaN64),
	lanesF32x4: vectorOf(canonicalNaN32 | canonicalNaN32<<32),
	lanesF64x2: vectorOf(canonicalNaN64),
}

// nanSelect chooses between the value and the NaN, given the value twice.
var nanSelect = [numLanes][]byte{
	lanesF32:   {opF32Eq, opSelect},
	lanesF64:   {opF64Eq, opSelect},
	lanesF32x4: {opVector, vectorF32Eq, opVector, vectorSelect},
	lanesF64x2: {opVector, vectorF64Eq, opVector, vectorSelect},
}

// vectorOf pushes a vector with the same eight bytes twice.
func vectorOf(half uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte{opVector, vectorConst}, half), half)
}
