package instance

import (
	"errors"

	"github.com/cruster/cruster/abi"
)

// UnderWay is which of several operations a guest runs, as it reports it.
type UnderWay struct {
	Count int
	Renew func() bool // has the limit of time begin anew, and reports whether it did
	// begun counts the operations that have begun, and last is the latest one. A guest may run
	// operations again.
	begun, last int
	reported    bool
	whole       bool // the latest one has a whole limit
}

// Begin is the import: the guest begins an operation. It reports whether its limits begin anew.
func (u *UnderWay) Begin(index uint32) (anew bool, err *abi.Error) {
	if uint64(index) > uint64(u.Count) {
		return false, abi.Errorf(
			abi.CodeBadBody, "the module reports that it begins operation %d of %d", index, u.Count,
		)
	}
	u.last, u.reported, u.whole = int(index), true, false
	if u.last < u.begun {
		return false, nil
	}
	u.begun = u.last + 1
	u.whole = u.Renew()
	return u.whole, nil
}

// EndedBy says in which operation an invocation ended that has failed.
func (u *UnderWay) EndedBy(err error) error {
	if !u.reported || u.last == u.Count {
		return err
	}
	return &OperationError{error: err, Operation: u.last, Whole: u.whole}
}

// OperationError is the error of an invocation that ended in the middle of an operation.
type OperationError struct {
	error
	Operation int
	// Whole says that the operation had a whole limit of time and fuel for itself.
	Whole bool
}

// Unwrap yields the error.
func (e *OperationError) Unwrap() error { return e.error }

// OperationErrorOf finds the operation in whose middle an invocation ended; nil if that is not known.
func OperationErrorOf(err error) *OperationError {
	in, _ := errors.AsType[*OperationError](err)
	return in
}
