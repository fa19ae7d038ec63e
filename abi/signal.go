package abi

import (
	"slices"
	"strings"
)

// Signal finds a signal that the workflow can be sent.
func (w *WorkflowInfo) Signal(name string) (*SignalInfo, error) {
	if i := slices.IndexFunc(w.Signals, func(s SignalInfo) bool { return s.Name == name }); i >= 0 {
		return &w.Signals[i], nil
	}
	err := Errorf(CodeUnknownSignal, "workflow %s has no signal %.100q", w.Name, name)
	if len(w.Signals) == 0 {
		return nil, err.WithHint("It has none. A workflow declares the signals that it can be sent.")
	}
	names := make([]string, len(w.Signals))
	for i, s := range w.Signals {
		names[i] = s.Name
	}
	return nil, err.WithHint("It has: %s.", strings.Join(names, ", "))
}
