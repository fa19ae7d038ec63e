package binary

import "encoding/binary"

// appendU32 encodes an unsigned number as LEB128.
func appendU32(out []byte, n uint64) []byte { return binary.AppendUvarint(out, n) }

// appendS32 encodes a signed number as LEB128.
func appendS32(out []byte, v int32) []byte { return appendS64(out, int64(v)) }

// appendS64 encodes a signed number as LEB128.
func appendS64(out []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
