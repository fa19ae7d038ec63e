package guest

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/cruster/cruster/abi"
)

// DecodeInvocation decodes the input of cruster_start. The result shares the memory of data, which
// must not change any more.
func DecodeInvocation(data []byte) (inv abi.Invocation, err error) {
	d := wireReader{data: data}
	for n := d.fields(); n > 0 && d.err == nil; n-- {
		switch d.text() {
		case "attempt":
			inv.Attempt = int(d.int())
		case "body":
			inv.Body = d.bytes()
		case "deadline":
			inv.Deadline = d.int()
		case "execution":
			inv.Execution = d.text()
		case "idempotency_key":
			inv.IdempotencyKey = d.text()
		case "kind":
			inv.Kind = d.text()
		case "name":
			inv.Name = d.text()
		case "namespace":
			inv.Namespace = d.text()
		case "seed":
			inv.Seed = d.bytes()
		case "time":
			inv.Time = d.int()
		case "unread":
			if !d.null() {
				inv.Unread = d.unread()
			}
		default:
			d.skip(0)
		}
	}
	return inv, d.end()
}

// unread reads names of signals by abi's codec: few runs are given any.
func (d *wireReader) unread() (all []string) {
	start := d.at
	d.skip(0)
	if err := abi.Unmarshal(d.data[start:d.at], &all); err != nil && d.err == nil {
		d.err = err
	}
	return all
}

// DecodeResume decodes the input of cruster_resume. The result shares the memory of data, which
// must not change any more, and the deliveries are appended to into, which may be nil.
func DecodeResume(data []byte, into []abi.Delivery) (r abi.Resume, err error) {
	d := wireReader{data: data}
	r.Deliveries = into
	for n := d.fields(); n > 0 && d.err == nil; n-- {
		switch d.text() {
		case "deliveries":
			for n := d.array(); n > 0 && d.err == nil; n-- {
				r.Deliveries = append(r.Deliveries, abi.Delivery{})
				d.delivery(&r.Deliveries[len(r.Deliveries)-1])
			}
		case "entries":
			r.Entries = uint64(d.int())
		case "time":
			r.Time = d.int()
		default:
			d.skip(0)
		}
	}
	return r, d.end()
}

func (d *wireReader) delivery(out *abi.Delivery) {
	for n := d.fields(); n > 0 && d.err == nil; n-- {
		switch d.text() {
		case "error":
			if !d.null() {
				out.Error = d.error()
			}
		case "op":
			out.Op = uint32(d.int())
		case "value":
			out.Value = d.bytes()
		default:
			d.skip(0)
		}
	}
}

// DecodeOperations decodes the body of an invocation of operations. The result shares the memory of
// data, which must not change any more.
func DecodeOperations(data []byte) (o abi.Operations, err error) {
	d := wireReader{data: data}
	for n := d.fields(); n > 0 && d.err == nil; n-- {
		switch d.text() {
		case "operations":
			calls := d.array()
			o.Operations = make([]abi.EntityCall, 0, calls)
			for ; calls > 0 && d.err == nil; calls-- {
				o.Operations = append(o.Operations, d.entityCall())
			}
		case "state":
			o.State = d.bytes()
		case "version":
			o.Version = uint32(d.int())
		default:
			d.skip(0)
		}
	}
	return o, d.end()
}

func (d *wireReader) entityCall() (c abi.EntityCall) {
	for n := d.fields(); n > 0 && d.err == nil; n-- {
		switch d.text() {
		case "input":
			c.Input = d.bytes()
		case "operation":
			c.Operation = d.text()
		default:
			d.skip(0)
		}
	}
	return c
}

func (d *wireReader) error() *abi.Error {
	start := d.at
	d.skip(0)
	e := new(abi.Error)
	if err := abi.Unmarshal(d.data[start:d.at], e); err != nil && d.err == nil {
		d.err = err
	}
	return e
}

var errWire = errors.New("the body is malformed")

// wireReader reads values from the front of a body. After an error it returns zero values and keeps the error.
//
// It copies nothing, and its small functions do much in one go: inside WebAssembly a call costs
// more than the work of most of them.
type wireReader struct {
	data []byte
	at   int // the next value
	err  error
}

func (d *wireReader) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", errWire, what)
	}
	d.at = len(d.data)
}

func (d *wireReader) end() error {
	if d.err == nil && d.at != len(d.data) {
		d.fail("there are bytes after the value")
	}
	return d.err
}

// take returns the next n bytes, or nil.
func (d *wireReader) take(n int) []byte {
	if n < 0 || n > len(d.data)-d.at {
		d.fail("it ends early")
		return nil
	}
	d.at += n
	return d.data[d.at-n : d.at : d.at]
}

func (d *wireReader) head() byte {
	if d.at < len(d.data) {
		d.at++
		return d.data[d.at-1]
	}
	d.fail("it ends early")
	return 0xc1
}

// number reads an unsigned number of n bytes.
func (d *wireReader) number(n int) (u uint64) {
	for _, b := range d.take(n) {
		u = u<<8 | uint64(b)
	}
	return u
}

// size reads a length of n bytes.
func (d *wireReader) size(n int) int {
	u := d.number(n)
	if u > math.MaxInt32 {
		d.fail("a length is too large")
		return 0
	}
	return int(u)
}

// null reads a nil, if one comes next.
func (d *wireReader) null() bool {
	if d.at < len(d.data) && d.data[d.at] == 0xc0 {
		d.at++
		return true
	}
	return false
}

// fields reads the head of a map with string keys, and returns how many there are.
func (d *wireReader) fields() int {
	switch h := d.head(); {
	case h&0xf0 == 0x80:
		return int(h & 0x0f)
	case h == 0xde:
		return d.size(2)
	case h == 0xdf:
		return d.size(4)
	}
	d.fail("a map is missing")
	return 0
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
	if n > len(d.data)-d.at {
		d.fail("an array is longer than the body")
		return 0
	}
	return n
}

// text reads a string, or a nil as an empty one.
func (d *wireReader) text() string {
	if d.at < len(d.data) {
		start := d.at + 1
		n := int(d.data[d.at] ^ 0xa0) // the length of a short one
		if n < 32 && n <= len(d.data)-start {
			d.at = start + n
			return unsafe.String(unsafe.SliceData(d.data[start:]), n)
		}
	}
	if d.null() {
		return ""
	}
	if h := d.head(); h >= 0xd9 && h <= 0xdb {
		b := d.take(d.size(1 << (h - 0xd9)))
		return unsafe.String(unsafe.SliceData(b), len(b))
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
	case h >= 0xcc && h <= 0xcf:
		return int64(d.number(1 << (h - 0xcc)))
	case h >= 0xd0 && h <= 0xd3:
		width := 1 << (h - 0xd0)
		shift := 64 - 8*width
		return int64(d.number(width)<<shift) >> shift
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
