package host

import "github.com/cruster/cruster/abi"

// Misfit is the error of a module that does not fit what an execution has done: an
// *abi.Error whose message shows both sides, and the sides themselves.
type Misfit struct {
	// Cause has the code abi.CodeDoesNotFit.
	Cause *abi.Error
	// Diff is nil if there is nothing to show side by side.
	Diff *Diff
}

func (m *Misfit) Error() string { return m.Cause.Error() }

func (m *Misfit) Unwrap() error { return m.Cause }
