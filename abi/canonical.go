package abi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Canonical returns the canonical form of one msgpack value.
//
// Two guests in two languages that send the same request must get the same key and the same argument hash, even if
// their encoders write different bytes. So the host never hashes the bytes of a guest: it hashes their canonical form.
//
//   - exactly one value, nothing after it, nested at most [MaxDepth] deep
//   - integers in their shortest form, unsigned if not negative
//   - floats keep their width; every NaN is the quiet NaN of that width
//   - strings (their bytes as they are), binaries, arrays and maps with their shortest header
//   - map entries sorted by their canonical key, no key twice: strings by their
//     bytes without the header, which is the order of every sorted map and of
//     fields in alphabetical order; keys of other types before them, by all of
//     their bytes
//   - extensions keep type and payload, with their shortest header
//
// Canonical is also the first check of all bytes that come from outside: bytes that pass it are well-formed, bounded in
// depth, and safe to hand to a decoder.
func Canonical(data []byte) ([]byte, error) {
	c := canonicalizer{in: data, out: make([]byte, 0, len(data))}
	if err := c.value(0); err != nil {
		return nil, err
	}
	if c.pos != len(data) {
		return nil, fmt.Errorf("msgpack: %d bytes after the value", len(data)-c.pos)
	}
	return c.out, nil
}

// DecodeBody decodes a body that comes from outside. It checks size, form and depth first. The error is a [CodeBadBody]
// or a [CodePayloadTooLarge].
func DecodeBody(data []byte, v any) error {
	if len(data) > MaxBody {
		return Errorf(CodePayloadTooLarge, "a body of %d bytes is over the limit of %d", len(data), MaxBody)
	}
	if _, err := Canonical(data); err != nil {
		return Errorf(CodeBadBody, "%s is malformed: %v", strings.TrimPrefix(fmt.Sprintf("%T", v), "*abi."), err)
	}
	if err := Unmarshal(data, v); err != nil {
		// A guest sees these words, on each replay: they are this package's own, and part of the format of journals.
		// The decoder's could be others with its next version.
		plain := plainError("it is not what the ABI says")
		errors.As(err, &plain)
		return Errorf(CodeBadBody, "decode %T: %s", v, plain)
	}
	return nil
}

// A canonicalizer walks in and appends the canonical form to out.
type canonicalizer struct {
	in  []byte
	pos int
	out []byte
}

func (c *canonicalizer) take(n int) ([]byte, error) {
	if n < 0 || n > len(c.in)-c.pos {
		return nil, fmt.Errorf("msgpack: ends early at byte %d", len(c.in))
	}
	b := c.in[c.pos : c.pos+n]
	c.pos += n
	return b, nil
}

// number reads a big-endian unsigned integer of n bytes.
func (c *canonicalizer) number(n int) (uint64, error) {
	b, err := c.take(n)
	if err != nil {
		return 0, err
	}
	var u uint64
	for _, x := range b {
		u = u<<8 | uint64(x)
	}
	return u, nil
}

func (c *canonicalizer) value(depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("msgpack: nested more than %d deep", MaxDepth)
	}
	head, err := c.take(1)
	if err != nil {
		return err
	}
	switch first := head[0]; {
	case first <= 0x7f:
		c.out = append(c.out, first)
		return nil
	case first >= 0xe0:
		c.out = append(c.out, first)
		return nil
	case first <= 0x8f:
		return c.mapOf(int(first&0x0f), depth)
	case first <= 0x9f:
		return c.arrayOf(int(first&0x0f), depth)
	case first <= 0xbf:
		return c.stringOf(int(first & 0x1f))
	default:
		return c.taggedValue(first, depth)
	}
}

// taggedValue reads a value whose head is one of 0xc0 to 0xdf.
func (c *canonicalizer) taggedValue(b byte, depth int) error {
	switch b {
	case 0xc0, 0xc2, 0xc3:
		c.out = append(c.out, b)
		return nil
	case 0xc4, 0xc5, 0xc6:
		return c.withLength(1<<(b-0xc4), c.binaryOf)
	case 0xc7, 0xc8, 0xc9:
		return c.withLength(1<<(b-0xc7), c.extensionOf)
	case 0xca, 0xcb:
		return c.float(4 << (b - 0xca))
	case 0xcc, 0xcd, 0xce, 0xcf:
		u, err := c.number(1 << (b - 0xcc))
		c.out = appendUint(c.out, u)
		return err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return c.signed(1 << (b - 0xd0))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return c.extensionOf(1 << (b - 0xd4))
	case 0xd9, 0xda, 0xdb:
		return c.withLength(1<<(b-0xd9), c.stringOf)
	case 0xdc, 0xdd:
		return c.withLength(2<<(b-0xdc), func(n int) error { return c.arrayOf(n, depth) })
	case 0xde, 0xdf:
		return c.withLength(2<<(b-0xde), func(n int) error { return c.mapOf(n, depth) })
	default:
		return fmt.Errorf("msgpack: byte 0x%02x is not a type", b)
	}
}

// withLength reads a length of width bytes and passes it to read.
func (c *canonicalizer) withLength(width int, read func(n int) error) error {
	n, err := c.number(width)
	if err != nil {
		return err
	}
	if n > uint64(len(c.in)-c.pos) {
		return fmt.Errorf("msgpack: a length of %d is more than the %d bytes that follow", n, len(c.in)-c.pos)
	}
	return read(int(n))
}

func (c *canonicalizer) signed(width int) error {
	u, err := c.number(width)
	if err != nil {
		return err
	}
	shift := 64 - 8*width
	c.out = appendInt(c.out, int64(u<<shift)>>shift)
	return nil
}

func (c *canonicalizer) float(width int) error {
	u, err := c.number(width)
	if err != nil {
		return err
	}
	if width == 4 {
		if f := math.Float32frombits(uint32(u)); f != f {
			u = 0x7fc00000
		}
		c.out = binary.BigEndian.AppendUint32(append(c.out, 0xca), uint32(u))
		return nil
	}
	if f := math.Float64frombits(u); f != f {
		u = 0x7ff8000000000000
	}
	c.out = binary.BigEndian.AppendUint64(append(c.out, 0xcb), u)
	return nil
}

func (c *canonicalizer) stringOf(n int) error {
	b, err := c.take(n)
	if err != nil {
		return err
	}
	c.out = append(appendStringHeader(c.out, n), b...)
	return nil
}

func (c *canonicalizer) binaryOf(n int) error {
	b, err := c.take(n)
	if err != nil {
		return err
	}
	c.out = append(appendLength(c.out, 0xc4, n), b...)
	return nil
}

func (c *canonicalizer) extensionOf(n int) error {
	b, err := c.take(n + 1)
	if err != nil {
		return err
	}
	switch n {
	case 1, 2, 4, 8, 16:
		c.out = append(c.out, 0xd4+byte(slices.Index([]int{1, 2, 4, 8, 16}, n)))
	default:
		c.out = appendLength(c.out, 0xc7, n)
	}
	c.out = append(c.out, b...)
	return nil
}

func (c *canonicalizer) arrayOf(n, depth int) error {
	// Each element takes at least one byte, so a false length is refused here, before anything is allocated for it.
	if n > len(c.in)-c.pos {
		return fmt.Errorf("msgpack: an array of %d elements in %d bytes", n, len(c.in)-c.pos)
	}
	c.out = appendCount(c.out, 0x90, 0xdc, n)
	for range n {
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (c *canonicalizer) mapOf(n, depth int) error {
	if n > (len(c.in)-c.pos)/2 {
		return fmt.Errorf("msgpack: a map of %d entries in %d bytes", n, len(c.in)-c.pos)
	}
	c.out = appendCount(c.out, 0x80, 0xde, n)
	type entry struct{ start, value, end int }
	base, entries, sorted := len(c.out), make([]entry, 0, n), true
	for range n {
		e := entry{start: len(c.out)}
		if err := c.value(depth + 1); err != nil {
			return err
		}
		e.value = len(c.out)
		if err := c.value(depth + 1); err != nil {
			return err
		}
		e.end = len(c.out)
		if k := len(entries); k > 0 &&
			compareKeys(c.out[entries[k-1].start:entries[k-1].value], c.out[e.start:e.value]) >= 0 {
			sorted = false
		}
		entries = append(entries, e)
	}
	if sorted {
		return nil
	}
	flat := bytes.Clone(c.out[base:])
	key := func(e entry) []byte { return flat[e.start-base : e.value-base] }
	slices.SortFunc(entries, func(a, b entry) int { return compareKeys(key(a), key(b)) })
	c.out = c.out[:base]
	for i, e := range entries {
		if i > 0 && bytes.Equal(key(entries[i-1]), key(e)) {
			return fmt.Errorf("msgpack: a map has the key 0x%x twice", key(e))
		}
		c.out = append(c.out, flat[e.start-base:e.end-base]...)
	}
	return nil
}

// compareKeys orders two keys of a map, both canonical.
func compareKeys(a, b []byte) int {
	aText, aIsString := stringContent(a)
	bText, bIsString := stringContent(b)
	switch {
	case aIsString && bIsString:
		return bytes.Compare(aText, bText)
	case aIsString:
		return 1
	case bIsString:
		return -1
	default:
		return bytes.Compare(a, b)
	}
}

// stringContent returns a canonical string without its header.
func stringContent(value []byte) (text []byte, ok bool) {
	switch head := value[0]; {
	case head&0xe0 == 0xa0:
		return value[1:], true
	case head == 0xd9, head == 0xda, head == 0xdb:
		return value[1+1<<(head-0xd9):], true
	default:
		return nil, false
	}
}

func appendUint(out []byte, u uint64) []byte {
	switch {
	case u <= 0x7f:
		return append(out, byte(u))
	case u <= math.MaxUint8:
		return append(out, 0xcc, byte(u))
	case u <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, 0xcd), uint16(u))
	case u <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(u))
	default:
		return binary.BigEndian.AppendUint64(append(out, 0xcf), u)
	}
}

func appendInt(out []byte, i int64) []byte {
	switch {
	case i >= 0:
		return appendUint(out, uint64(i))
	case i >= -32:
		return append(out, byte(i))
	case i >= math.MinInt8:
		return append(out, 0xd0, byte(i))
	case i >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(out, 0xd1), uint16(i))
	case i >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(i))
	default:
		return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(i))
	}
}

// appendLength appends a head whose three forms (8, 16 and 32 bits) follow each other from first on.
func appendLength(out []byte, first byte, n int) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(out, first, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, first+1), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(out, first+2), uint32(n))
	}
}

func appendStringHeader(out []byte, n int) []byte {
	if n <= 31 {
		return append(out, 0xa0|byte(n))
	}
	return appendLength(out, 0xd9, n)
}

// appendCount appends the head of an array or a map: fixed form up to 15, then 16 and 32 bits.
func appendCount(out []byte, fixed, first byte, n int) []byte {
	switch {
	case n <= 15:
		return append(out, fixed|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, first), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(out, first+1), uint32(n))
	}
}
