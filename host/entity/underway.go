package entity

import (
	"errors"

	"github.com/cruster/cruster/abi"
)

// underWay is which of several operations a guest runs, as it reports it.
type underWay struct {
	count int
	renew func() bool // has the limit of time begin anew, and reports whether it did
	// begun counts the operations that have begun, and last is the latest one. A guest may run
	// operations again.
	begun, last int
	reported    bool
	whole       bool // the latest one has a whole limit
}

// begin is the import: the guest begins an operation. It reports whether its limits begin anew.
func (u *underWay) begin(index uint32) (anew bool, err *abi.Error) {
	if uint64(index) > uint64(u.count) {
		return false, abi.Errorf(abi.CodeBadBody, "the module reports that it begins operation %d of %d", index, u.count)
	}
	u.last, u.reported, u.whole = int(index), true, false
	if u.last < u.begun {
		return false, nil
	}
	u.begun = u.last + 1
	u.whole = u.renew()
	return u.whole, nil
}

// endedBy says in which operation an invocation ended that has failed.
func (u *underWay) endedBy(err error) error {
	if !u.reported || u.last == u.count {
		return err
	}
	return &endedIn{error: err, operation: u.last, whole: u.whole}
}

// endedIn is the error of an invocation that ended in the middle of an operation.
type endedIn struct {
	error
	operation int
	// whole says that the operation had a whole limit of time and fuel for itself.
	whole bool
}

// Unwrap yields the error.
func (e *endedIn) Unwrap() error { return e.error }

// endOf tells in which operation an invocation ended; nil if that is not known.
func endOf(err error) *endedIn {
	in, _ := errors.AsType[*endedIn](err)
	return in
}
