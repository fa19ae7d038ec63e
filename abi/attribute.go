package abi

import (
	"bytes"
	"math"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// Attribute is the value of an attribute: of its type, and in its order.
type Attribute struct {
	// Type is one of the Attribute constants.
	Type string
	// Text of a text; empty for others.
	Text string
	// Number of a number; 0 or 1 of a bool; Unix microseconds of a time.
	Number float64
}

// AttributeOf reads an attribute off a msgpack value.
func AttributeOf(value []byte) (Attribute, *Error) {
	const header = 8 // at most, of what an attribute can be
	if len(value) > MaxAttribute+header {
		return Attribute{}, Errorf(CodeBadAttribute, "the value of the attribute takes %d bytes; a text has at most %d", len(value), MaxAttribute)
	}
	r := bytes.NewReader(value)
	v, err := msgpack.NewDecoder(r).DecodeInterface()
	if err != nil || r.Len() > 0 {
		return Attribute{}, Errorf(CodeBadAttribute, "the value of the attribute is not one msgpack value")
	}
	a := Attribute{Type: AttributeNumber}
	switch v := v.(type) {
	case string:
		if err := CheckPublishedText(CodeBadAttribute, "the text of the attribute", v); err != nil {
			return Attribute{}, err
		}
		return Attribute{Type: AttributeText, Text: v}, nil
	case bool:
		a.Type = AttributeBool
		if v {
			a.Number = 1
		}
	case time.Time:
		a.Type, a.Number = AttributeTime, float64(v.UnixMicro())
	case int8:
		a.Number = float64(v)
	case int16:
		a.Number = float64(v)
	case int32:
		a.Number = float64(v)
	case int64:
		a.Number = float64(v)
	case uint8:
		a.Number = float64(v)
	case uint16:
		a.Number = float64(v)
	case uint32:
		a.Number = float64(v)
	case uint64:
		a.Number = float64(v)
	case float32:
		a.Number = float64(v)
	case float64:
		a.Number = v
	default:
		return Attribute{}, Errorf(CodeBadAttribute, "an attribute is a string, a number, a bool or a time, not %T", v)
	}
	if math.IsNaN(a.Number) || math.IsInf(a.Number, 0) {
		return Attribute{}, Errorf(CodeBadAttribute, "an attribute is a finite number, not %v", a.Number)
	}
	return a, nil
}
