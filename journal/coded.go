package journal

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
)

// SchemaNewer is the answer to an operator whose program is older than the schema of its store.
func SchemaNewer(found, known int64) error {
	return abi.Errorf(
		abi.CodeStoreNewer, "the schema of the store has version %d, and this program knows versions up to %d", found,
		known,
	)
}

// CodedAtStart is Coded for a starting host. A running host takes a full disk for a store that is
// away, and waits; a starting one gives up and says why.
func CodedAtStart(doing string, err error) error {
	if errors.Is(err, ErrFull) {
		return abi.Errorf(abi.CodeStoreFull, "%s: %v", doing, err)
	}
	return Coded(doing, err)
}

// Coded gives a failure of the store the code under which users meet it, unless it has one already.
// Doing names the attempt: "load orders/Process/42".
func Coded(doing string, err error) error {
	var coded *abi.Error
	if errors.As(err, &coded) {
		return err
	}
	switch {
	case errors.Is(err, ErrUndecided):
		// Also if a deadline made it so: the store may have done it.
		return abi.Errorf(abi.CodeStore, "%s: %v", doing, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return abi.Errorf(abi.CodeDeadline, "%s: %v", doing, err)
	case errors.Is(err, ErrFenced):
		return abi.Errorf(abi.CodeFenced, "%s: %v", doing, err)
	case errors.Is(err, ErrCorrupt):
		// The store works. It is the trouble of one execution, which is paused with this code.
		return abi.Errorf(abi.CodeHostFault, "%s: %v", doing, err)
	default:
		return abi.Errorf(abi.CodeStore, "%s: %v", doing, err)
	}
}
