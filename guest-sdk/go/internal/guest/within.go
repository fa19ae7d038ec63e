package guest

import (
	"io"
	"sync/atomic"
)

// Within is the key under which the context of an attempt is found in contexts that were derived
// from it: libraries hand on a context.Context, and packages of the SDK find in it the capabilities
// of the attempt.
type Within struct{}

// Kept is the key under which a context of an attempt has its [Keep].
type Kept struct{}

// Keep holds the SDK packages' data about one attempt.
type Keep struct {
	// Wrote says that statements of the transaction may have changed something.
	Wrote atomic.Bool
	// SQL is of the package stdsql: where it is in the transaction. It is closed with the attempt.
	SQL io.Closer
}

// Close releases the resources of a finished attempt.
func (k *Keep) Close() {
	if k.SQL != nil {
		// Open work is undone. If the host cannot do that it repeats the attempt, and stores
		// nothing of this one.
		_ = k.SQL.Close()
	}
}

// Running is the context of the attempt that an instance runs, for libraries that hand on no
// context. It is set in modules only, where an instance runs one attempt at a time.
var Running any
