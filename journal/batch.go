package journal

import (
	"errors"
	"fmt"
	"iter"
	"time"
)

// Limits of the ways to go on after a failure.
const (
	conflictRetries = 5
	conflictPause   = time.Millisecond
	maxFailedAlone  = 3
)

// cutBatch tells how many writes of a queue, given by their sizes in bytes, make the next batch: as many from its head
// as both bounds allow, and at least one if there is one. A single write may exceed maxBytes: it has to be committed
// too.
func cutBatch(sizes iter.Seq[int], maxWrites, maxBytes int) int {
	n, total := 0, 0
	for size := range sizes {
		total += size
		if n == maxWrites || n > 0 && total > maxBytes {
			break
		}
		n++
	}
	return n
}

// recovery is the committer's reaction to a failed transaction.
type recovery int

const (
	// failAll answers every write of the batch with the error.
	failAll recovery = iota
	// retryAll repeats the batch as it is, after a pause.
	retryAll
	// tryEachAlone gives every write of the batch a transaction of its own.
	tryEachAlone
)

func (r recovery) String() string {
	switch r {
	case failAll:
		return "fail all"
	case retryAll:
		return "retry all"
	case tryEachAlone:
		return "try each alone"
	}
	return fmt.Sprintf("recovery(%d)", int(r))
}

// afterFailure decides how to go on after a transaction of this many writes failed with err. Tries counts how often it
// was tried, from 1. Pause is how long to wait before a retry. [Committer] explains the reasons.
func afterFailure(err error, writes, tries int) (next recovery, pause time.Duration) {
	switch {
	case errors.Is(err, ErrConflict) && tries <= conflictRetries:
		return retryAll, conflictPause << (tries - 1)
	case errors.Is(err, ErrConflict), errors.Is(err, ErrUndecided), errors.Is(err, ErrUnavailable), writes == 1:
		return failAll, 0
	}
	return tryEachAlone, 0
}

// storeIsDown tells whether so many writes failed alone, one after the other, that the store is to blame and not the
// writes.
func storeIsDown(failedAlone int) bool { return failedAlone >= maxFailedAlone }
