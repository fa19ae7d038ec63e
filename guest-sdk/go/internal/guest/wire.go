package guest

import (
	"encoding/binary"
	"math"

	"github.com/cruster/cruster/abi"
)

// EncodeBody encodes the body of an op.
//
// Every turn decodes one body and encodes a few, and reflection is slow inside WebAssembly: it took most of the time of
// a turn. So this file encodes and decodes by hand the bodies that every turn needs. The rare bodies, and the rare
// parts of the others, go through abi's codec. A test compares the two.
func EncodeBody(body any) []byte {
	switch b := body.(type) {
	case abi.Interrupted, abi.Update, abi.Unlock:
		return []byte{0x80}
	case abi.Sleep:
		out := append(make([]byte, 0, 32+len(b.Name)), 0x82)
		out = appendInt(appendString(out, "duration"), b.Duration)
		return appendString(appendString(out, "name"), b.Name)
	case abi.Deferred:
		return appendString(appendString([]byte{0x81}, "name"), b.Name)
	case abi.Receive:
		return appendString(appendString([]byte{0x81}, "name"), b.Name)
	case abi.Activity:
		return NewActivityBody(&b).With(b.Input)
	case abi.Call:
		out := append(make([]byte, 0, 80+len(b.Input)+len(b.Key)+len(b.Workflow)), 0x85)
		out = appendBytes(appendString(out, "input"), b.Input)
		out = appendString(appendString(out, "key"), b.Key)
		out = appendString(appendString(out, "key_mode"), b.KeyMode)
		out = appendString(appendString(out, "on_cancel"), b.OnCancel)
		return appendString(appendString(out, "workflow"), b.Workflow)
	case abi.EntityMessage:
		return appendEntityMessage(make([]byte, 0, 32+len(b.Entity)+len(b.Input)+len(b.Operation)), &b)
	default:
		return abi.MustMarshal(body)
	}
}

// ActivityBody is the body of an activity op but for its input, which alone differs from one call of an activity to the
// next.
type ActivityBody struct{ afterInput []byte }

// activityBeforeInput is how the body of an activity op begins: a map of five fields, and the name of the first.
const activityBeforeInput = "\x85\xa5input"

// NewActivityBody encodes all of a but its input.
func NewActivityBody(a *abi.Activity) ActivityBody {
	out := appendString(appendString(nil, "key"), a.Key)
	out = appendString(appendString(out, "name"), a.Name)
	out = append(appendString(out, "retry"), 0x84)
	out = appendString(appendString(out, "backoff"), a.Retry.Backoff)
	out = appendInt(appendString(out, "base"), a.Retry.Base)
	out = append(appendString(out, "jitter"), 0xcb)
	out = binary.BigEndian.AppendUint64(out, math.Float64bits(a.Retry.Jitter))
	out = appendInt(appendString(out, "retries"), int64(a.Retry.Retries))
	return ActivityBody{appendInt(appendString(out, "timeout"), a.Timeout)}
}

// With is the body with an input.
func (b ActivityBody) With(input []byte) []byte {
	out := make([]byte, 0, len(activityBeforeInput)+5+len(input)+len(b.afterInput))
	out = appendBytes(append(out, activityBeforeInput...), input)
	return append(out, b.afterInput...)
}

// EncodeOutcome encodes the end of an invocation.
func EncodeOutcome(o *abi.Outcome) []byte {
	if o.Continue != nil {
		return abi.MustMarshal(o)
	}
	out := make([]byte, 0, 36+len(o.Value))
	out = append(out, "\x83\xa8continue\xc0\xa5error"...)
	if o.Error == nil {
		out = append(out, 0xc0)
	} else {
		out = appendError(out, o.Error)
	}
	return appendBytes(append(out, "\xa5value"...), o.Value)
}

// EncodeOperationsReply encodes the results of operations of an entity.
func EncodeOperationsReply(r *abi.OperationsReply) []byte {
	size := 48 + len(r.State)
	for i := range r.Replies {
		size += 40 + len(r.Replies[i].Value)
	}
	out := appendArray(append(make([]byte, 0, size), "\x83\xa7replies"...), len(r.Replies))
	for i := range r.Replies {
		out = appendOperationReply(out, &r.Replies[i])
	}
	out = appendBytes(append(out, "\xa5state"...), r.State)
	return appendInt(append(out, "\xa7version"...), int64(r.Version))
}

func appendOperationReply(out []byte, r *abi.OperationReply) []byte {
	out = append(out, "\x84\xa5error"...)
	if r.Error == nil {
		out = append(out, 0xc0)
	} else {
		out = appendError(out, r.Error)
	}
	out = append(out, "\xa4sent"...)
	if r.Sent == nil {
		out = append(out, 0xc0)
	} else {
		out = appendArray(out, len(r.Sent))
		for i := range r.Sent {
			out = appendEntityMessage(out, &r.Sent[i])
		}
	}
	out = append(out, "\xa7started"...)
	if r.Started == nil {
		out = append(out, 0xc0)
	} else {
		out = append(out, abi.MustMarshal(r.Started)...)
	}
	return appendBytes(append(out, "\xa5value"...), r.Value)
}

func appendError(out []byte, e *abi.Error) []byte {
	out = appendString(append(out, "\x86\xa4code"...), string(e.Code))
	out = appendBytes(append(out, "\xa7details"...), e.Details)
	out = appendString(append(out, "\xa4hint"...), e.Hint)
	out = appendString(append(out, "\xa7message"...), e.Message)
	retryable := byte(0xc2)
	if e.Retryable {
		retryable = 0xc3
	}
	out = append(append(out, "\xa9retryable"...), retryable)
	return appendString(append(out, "\xa4type"...), e.Type)
}

func appendEntityMessage(out []byte, m *abi.EntityMessage) []byte {
	out = appendString(append(out, "\x83\xa6entity"...), m.Entity)
	out = appendBytes(append(out, "\xa5input"...), m.Input)
	return appendString(append(out, "\xa9operation"...), m.Operation)
}

func appendArray(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
	}
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
