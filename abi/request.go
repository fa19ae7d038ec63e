package abi

import (
	"bytes"
	"slices"
)

// CheckRequest bounds the request of a start, makes it canonical and checks it against the workflow's type. A request
// that was left out is nil.
//
// The host and the test kit of the Go SDK both call it, so they refuse the same requests.
func (w *WorkflowInfo) CheckRequest(input []byte) ([]byte, error) {
	return checkValue("the input", w.Input, orAbsent(w.Input, input))
}

// CheckValue checks the value of a signal, as [WorkflowInfo.CheckRequest] checks a request.
func (s *SignalInfo) CheckValue(value []byte) ([]byte, error) {
	return checkValue("the value", s.Value, orAbsent(s.Value, value))
}

// CheckInput checks the input of a query, as [WorkflowInfo.CheckRequest] checks a request.
func (q *QueryInfo) CheckInput(input []byte) ([]byte, error) {
	return checkValue("the input", q.Input, orAbsent(q.Input, input))
}

// checkValue bounds a value, makes it canonical and checks it against its type; the argument what names it in errors.
func checkValue(what string, schema *Schema, value []byte) ([]byte, error) {
	if len(value) > MaxPayload {
		return nil, Errorf(CodePayloadTooLarge, "%s has %d bytes, the limit is %d", what, len(value), MaxPayload)
	}
	canonical, err := Canonical(value)
	if err != nil {
		return nil, Errorf(CodeBadInput, "%s is not one msgpack value: %v", what, err)
	}
	if schema != nil {
		if err := schema.Check(canonical); err != nil {
			return nil, err
		}
	}
	return canonical, nil
}

// orAbsent is the value, or the stand-in for an omitted value: an empty struct if none of its fields is required, and
// nil otherwise. For a struct without fields, nil is an omitted value too.
func orAbsent(s *Schema, value []byte) []byte {
	structure := s != nil && s.Type == TypeStruct && !s.Nullable
	switch {
	case structure && len(s.Fields) == 0 && bytes.Equal(value, Nil):
		return emptyMap
	case value != nil:
		return value
	case !structure || slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Required }):
		return Nil
	}
	return emptyMap
}

var emptyMap = []byte{0x80}
