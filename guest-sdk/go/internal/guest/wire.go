package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cruster/cruster/abi"
)

// EncodeBody encodes the body of an op.
//
// Every turn decodes one body and encodes a few, and reflection is slow inside
// WebAssembly: it took most of the time of a turn. So this file encodes and
// decodes by hand the bodies that every turn needs. The rare bodies, and the rare
// parts of the others, go through abi's codec. A test compares the two.
func EncodeBody(body any) []byte {
	switch b := body.(type) {
	case abi.Interrupted:
		return []byte{0x80}
	case abi.Sleep:
		out := append(make([]byte, 0, 32+len(b.Name)), 0x82)
		out = appendInt(appendString(out, "duration"), b.Duration)
		return appendString(appendString(out, "name"), b.Name)
	case abi.Deferred:
		return appendString(appendString([]byte{0x81}, "name"), b.Name)
	case abi.Activity:
		return encodeActivity(&b)
	case abi.Call:
		out := append(make([]byte, 0, 64+len(b.Input)+len(b.Key)+len(b.Workflow)), 0x84)
		out = appendBytes(appendString(out, "input"), b.Input)
		out = appendString(appendString(out, "key"), b.Key)
		out = appendString(appendString(out, "key_mode"), b.KeyMode)
		return appendString(appendString(out, "workflow"), b.Workflow)
	default:
		return abi.MustMarshal(body)
	}
}

func encodeActivity(b *abi.Activity) []byte {
	out := append(make([]byte, 0, 128+len(b.Input)+len(b.Key)+len(b.Name)), 0x85)
	out = appendBytes(appendString(out, "input"), b.Input)
	out = appendString(appendString(out, "key"), b.Key)
	out = appendString(appendString(out, "name"), b.Name)
	out = append(appendString(out, "retry"), 0x84)
	out = appendString(appendString(out, "backoff"), b.Retry.Backoff)
	out = appendInt(appendString(out, "base"), b.Retry.Base)
	out = append(appendString(out, "jitter"), 0xcb)
	out = binary.BigEndian.AppendUint64(out, math.Float64bits(b.Retry.Jitter))
	out = appendInt(appendString(out, "retries"), int64(b.Retry.Retries))
	return appendInt(appendString(out, "timeout"), b.Timeout)
}

// EncodeOutcome encodes the end of an invocation.
func EncodeOutcome(o *abi.Outcome) []byte {
	out := appendString(append(make([]byte, 0, 24+len(o.Value)), 0x82), "error")
	if o.Error == nil {
		out = append(out, 0xc0)
	} else {
		out = append(out, abi.MustMarshal(o.Error)...)
	}
	return appendBytes(appendString(out, "value"), o.Value)
}

func appendString(b []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xd9, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, s...)
}

func appendBytes(b, s []byte) []byte {
	switch n := len(s); {
	case s == nil:
		return append(b, 0xc0)
	case n <= math.MaxUint8:
		b = append(b, 0xc4, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xc5), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
	}
	return append(b, s...)
}

func appendInt(b []byte, n int64) []byte {
	switch {
	case n >= 0 && n <= math.MaxInt8, n < 0 && n >= -32:
		return append(b, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		return append(b, 0xcc, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(n))
	case n >= 0 && n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(n))
	case n >= 0:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), uint64(n))
	case n >= math.MinInt8:
		return append(b, 0xd0, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, 0xd1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(n))
	}
}

// DecodeInvocation decodes the input of cruster_start.
func DecodeInvocation(data []byte) (inv abi.Invocation, err error) {
	d := wireReader{rest: data}
	d.fields(func(name string) {
		switch name {
		case "attempt":
			inv.Attempt = int(d.int())
		case "body":
			inv.Body = d.bytes()
		case "execution":
			inv.Execution = d.string()
		case "idempotency_key":
			inv.IdempotencyKey = d.string()
		case "kind":
			inv.Kind = d.string()
		case "name":
			inv.Name = d.string()
		case "namespace":
			inv.Namespace = d.string()
		case "seed":
			inv.Seed = d.bytes()
		case "time":
			inv.Time = d.int()
		default:
			d.skip(0)
		}
	})
	return inv, d.end()
}

// DecodeResume decodes the input of cruster_resume.
func DecodeResume(data []byte) (r abi.Resume, err error) {
	d := wireReader{rest: data}
	d.fields(func(name string) {
		switch name {
		case "deliveries":
			for range d.array() {
				r.Deliveries = append(r.Deliveries, d.delivery())
			}
		case "time":
			r.Time = d.int()
		default:
			d.skip(0)
		}
	})
	return r, d.end()
}

func (d *wireReader) delivery() (out abi.Delivery) {
	d.fields(func(name string) {
		switch name {
		case "error":
			if d.null() {
				return
			}
			raw := d.rest
			d.skip(0)
			out.Error = new(abi.Error)
			if err := abi.Unmarshal(raw[:len(raw)-len(d.rest)], out.Error); err != nil && d.err == nil {
				d.err = err
			}
		case "op":
			out.Op = uint32(d.int())
		case "value":
			out.Value = d.bytes()
		default:
			d.skip(0)
		}
	})
	return out
}

var errWire = errors.New("the body is malformed")

// wireReader reads values from the front of a body. After an error it returns
// zero values and keeps the error.
type wireReader struct {
	rest []byte
	err  error
}

func (d *wireReader) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", errWire, what)
	}
	d.rest = nil
}

func (d *wireReader) end() error {
	if d.err == nil && len(d.rest) != 0 {
		d.fail("there are bytes after the value")
	}
	return d.err
}

// take returns the next n bytes, or nil.
func (d *wireReader) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.fail("it ends early")
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *wireReader) head() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0xc1
}

// size reads an unsigned number of n bytes.
func (d *wireReader) size(n int) int {
	var u uint64
	for _, b := range d.take(n) {
		u = u<<8 | uint64(b)
	}
	if u > math.MaxInt32 {
		d.fail("a length is too large")
		return 0
	}
	return int(u)
}

// null reads a nil, if one comes next.
func (d *wireReader) null() bool {
	if len(d.rest) > 0 && d.rest[0] == 0xc0 {
		d.rest = d.rest[1:]
		return true
	}
	return false
}

// fields reads a map with string keys; field must take the value.
func (d *wireReader) fields(field func(name string)) {
	n := 0
	switch h := d.head(); {
	case h&0xf0 == 0x80:
		n = int(h & 0x0f)
	case h == 0xde:
		n = d.size(2)
	case h == 0xdf:
		n = d.size(4)
	default:
		d.fail("a map is missing")
	}
	for i := 0; i < n && d.err == nil; i++ {
		field(d.string())
	}
}

func (d *wireReader) array() int {
	if d.null() {
		return 0
	}
	n := 0
	switch h := d.head(); {
	case h&0xf0 == 0x90:
		n = int(h & 0x0f)
	case h == 0xdc:
		n = d.size(2)
	case h == 0xdd:
		n = d.size(4)
	default:
		d.fail("an array is missing")
	}
	if n > len(d.rest) {
		d.fail("an array is longer than the body")
		return 0
	}
	return n
}

func (d *wireReader) string() string {
	if d.null() {
		return ""
	}
	switch h := d.head(); {
	case h&0xe0 == 0xa0:
		return string(d.take(int(h & 0x1f)))
	case h >= 0xd9 && h <= 0xdb:
		return string(d.take(d.size(1 << (h - 0xd9))))
	}
	d.fail("a string is missing")
	return ""
}

func (d *wireReader) bytes() []byte {
	if d.null() {
		return nil
	}
	if h := d.head(); h >= 0xc4 && h <= 0xc6 {
		return d.take(d.size(1 << (h - 0xc4)))
	}
	d.fail("bytes are missing")
	return nil
}

func (d *wireReader) int() int64 {
	h := d.head()
	switch {
	case h <= 0x7f || h >= 0xe0:
		return int64(int8(h))
	case h >= 0xcc && h <= 0xd3:
		width := 1 << ((h - 0xcc) & 3)
		var u uint64
		for _, b := range d.take(width) {
			u = u<<8 | uint64(b)
		}
		if h >= 0xd0 {
			shift := 64 - 8*width
			return int64(u<<shift) >> shift
		}
		return int64(u)
	}
	d.fail("an integer is missing")
	return 0
}

// skip reads a value of any kind and drops it.
func (d *wireReader) skip(depth int) {
	if depth > abi.MaxDepth {
		d.fail("it is nested too deep")
	}
	if d.err != nil {
		return
	}
	h := d.head()
	switch {
	case h <= 0x7f || h >= 0xe0 || h == 0xc0 || h == 0xc2 || h == 0xc3:
	case h <= 0x8f:
		d.skipMany(2*int(h&0x0f), depth)
	case h <= 0x9f:
		d.skipMany(int(h&0x0f), depth)
	case h <= 0xbf:
		d.take(int(h & 0x1f))
	case h >= 0xc4 && h <= 0xc6:
		d.take(d.size(1 << (h - 0xc4)))
	case h >= 0xc7 && h <= 0xc9:
		d.take(d.size(1<<(h-0xc7)) + 1)
	case h == 0xca || h == 0xcb:
		d.take(4 << (h - 0xca))
	case h >= 0xcc && h <= 0xd3:
		d.take(1 << ((h - 0xcc) & 3))
	case h >= 0xd4 && h <= 0xd8:
		d.take(1<<(h-0xd4) + 1)
	case h >= 0xd9 && h <= 0xdb:
		d.take(d.size(1 << (h - 0xd9)))
	case h == 0xdc || h == 0xdd:
		d.skipMany(d.size(2<<(h-0xdc)), depth)
	case h == 0xde || h == 0xdf:
		d.skipMany(2*d.size(2<<(h-0xde)), depth)
	default:
		d.fail("a byte is not a type")
	}
}

func (d *wireReader) skipMany(n, depth int) {
	for i := 0; i < n && d.err == nil; i++ {
		d.skip(depth + 1)
	}
}
