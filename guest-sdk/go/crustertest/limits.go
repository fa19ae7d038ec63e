package crustertest

import (
	"fmt"
	"time"

	"github.com/cruster/cruster/abi"
)

// Limits of a host that abi does not have, because no guest counts them itself.
const (
	logLineCost    = 16      // bytes that a line of a log costs besides its text
	maxEntries     = 250_000 // of a journal
	maxOpenBytes   = 64 << 20
	maxOpenOps     = 100_000
	maxSent        = 1000            // messages of one operation of an entity
	maxTransaction = 2 * time.Second // that it may be open, on the embedded store
	maxTurnLog     = 256 << 10
)

// opened counts the open requests of a run, as a host does.
type opened struct {
	// ops are the ops of the turn; the first wait for an interrupt is not counted.
	ops     int
	bytes   int // of all ops that are pending
	entries int // of the journal: deliveries, and attempts that failed and are repeated
	waits   bool
	logged  int // bytes of the log of the turn
}

// mayLog tells whether a host would keep a line of the log. The first that it would not is noted.
func (r *run) mayLog(size int) bool {
	before := r.opened.logged
	if r.opened.logged += size + logLineCost; r.opened.logged <= maxTurnLog {
		return true
	}
	if before <= maxTurnLog {
		r.world.log(
			r.id, abi.LogWarn,
			fmt.Sprintf(
				"a host drops the rest of what the workflow logs in this turn: it is more than %d bytes", maxTurnLog,
			),
		)
	}
	return false
}

// checkOpen refuses an op that is too much.
func (r *run) checkOpen(kind string, body []byte) *abi.Error {
	if len(body) > abi.MaxBody {
		return abi.Errorf(
			abi.CodePayloadTooLarge, "the body of %s has %d bytes, and %d are allowed", kind, len(body), abi.MaxBody,
		)
	}
	if r.opened.ops >= abi.MaxOpsPerTurn && !r.isUncounted(kind) {
		return abi.Errorf(
			abi.CodeTooManyOps, "the workflow issued more than %d ops without waiting for one", abi.MaxOpsPerTurn,
		)
	}
	if len(r.pending) >= maxOpenOps || r.opened.bytes+len(body) > maxOpenBytes {
		return abi.Errorf(
			abi.CodeTooManyOps, "the workflow waits for %d ops of %d bytes already", len(r.pending), r.opened.bytes,
		)
	}
	return nil
}

func (r *run) isUncounted(kind string) bool { return kind == abi.OpInterrupted && !r.opened.waits }

// open counts an op that was accepted.
func (r *run) open(kind string, body []byte) {
	if r.isUncounted(kind) {
		r.opened.waits = true
	} else {
		r.opened.ops++
	}
	r.opened.bytes += len(body)
}

// closeOp forgets an op that is not pending any more.
func (r *run) closeOp(op uint32) {
	r.opened.bytes -= r.pending[op].size
	delete(r.pending, op)
}

// enter counts an entry of the journal. If there are too many the execution cannot go on.
func (r *run) enter() *abi.Error {
	if r.opened.entries++; r.opened.entries > maxEntries {
		return abi.Errorf(
			abi.CodeExecutionTooLong, "the journal has %d entries, the limit is %d", r.opened.entries, maxEntries,
		)
	}
	return nil
}

// checkReply refuses state that an operation of an entity may not leave behind.
func checkReply(entity string, reply *abi.OperationsReply) error {
	if len(reply.State) > abi.MaxState {
		return abi.Errorf(
			abi.CodePayloadTooLarge, "the state of %s has %d bytes, the limit is %d", entity, len(reply.State),
			abi.MaxState,
		)
	}
	for _, did := range reply.Replies {
		if n := len(did.Sent) + len(did.Started); n > maxSent {
			return abi.Errorf(abi.CodeTooManyOps, "an operation sent %d messages, the limit is %d", n, maxSent)
		}
	}
	return nil
}
