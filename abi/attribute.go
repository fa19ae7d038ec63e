package abi

import (
	"bytes"
	"math"
	"reflect"
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
	const header = 8 // at most, of any attribute
	if len(value) > MaxAttribute+header {
		return Attribute{}, Errorf(
			CodeBadAttribute, "the value of the attribute takes %d bytes; a text has at most %d", len(value),
			MaxAttribute,
		)
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
	default:
		number, ok := numberOf(v)
		if !ok {
			return Attribute{}, Errorf(
				CodeBadAttribute, "an attribute is a string, a number, a bool or a time, not %T", v,
			)
		}
		a.Number = number
	}
	if math.IsNaN(a.Number) || math.IsInf(a.Number, 0) {
		return Attribute{}, Errorf(CodeBadAttribute, "an attribute is a finite number, not %v", a.Number)
	}
	return a, nil
}

// numberOf is the value of a number, of whatever type it is.
func numberOf(v any) (float64, bool) {
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		return float64(n.Int()), true
	case n.CanUint():
		return float64(n.Uint()), true
	case n.CanFloat():
		return n.Float(), true
	}
	return 0, false
}
