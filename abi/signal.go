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
	names := make([]string, len(w.Signals))
	for i, s := range w.Signals {
		names[i] = s.Name
	}
	return nil, undeclared(CodeUnknownSignal, w.Name, "signal", name, names)
}

// undeclared says that a workflow has nothing of a kind by that name, and lists the names that it has. The name that
// was meant is a declared one; the others that are near it stand for one.
func undeclared(code Code, workflow, kind, name string, declared []string, near ...Spelling) *Error {
	err := Errorf(code, "workflow %s has no %s %.100q%s", workflow, kind, name, DidYouMean(name, declared, near...))
	if len(declared) == 0 {
		return err
	}
	return err.WithHint("It has: %s.", strings.Join(declared, ", "))
}
