package abi

import (
	"slices"
	"strings"
)

// CheckSignal bounds the value of a signal, makes it canonical and checks that the
// workflow can be sent it. A value that was left out is nil.
//
// The host and the test kit of the Go SDK both call it, so they refuse the same signals.
func (w *WorkflowInfo) CheckSignal(name string, value []byte) ([]byte, error) {
	i := slices.IndexFunc(w.Signals, func(s SignalInfo) bool { return s.Name == name })
	if i < 0 {
		return nil, w.unknownSignal(name)
	}
	schema := w.Signals[i].Value
	if value == nil {
		value = absentRequest(schema)
	}
	if len(value) > MaxPayload {
		return nil, Errorf(CodePayloadTooLarge, "the value of signal %q has %d bytes, the limit is %d", name, len(value), MaxPayload)
	}
	canonical, err := Canonical(value)
	if err != nil {
		return nil, Errorf(CodeBadInput, "the value of signal %q is not one msgpack value: %v", name, err)
	}
	if schema != nil {
		if err := schema.Check(canonical); err != nil {
			return nil, err
		}
	}
	return canonical, nil
}

func (w *WorkflowInfo) unknownSignal(name string) *Error {
	err := Errorf(CodeUnknownSignal, "workflow %s has no signal %.100q", w.Name, name)
	if len(w.Signals) == 0 {
		return err.WithHint("It has none. A workflow declares the signals that it can be sent.")
	}
	names := make([]string, len(w.Signals))
	for i, s := range w.Signals {
		names[i] = s.Name
	}
	return err.WithHint("It has: %s.", strings.Join(names, ", "))
}
