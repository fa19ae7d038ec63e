package execution

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// PendingOp is an op that was issued and not delivered.
type PendingOp struct {
	Number    uint32
	Kind      string
	Name      string
	Key       string
	Step      journal.StepID
	Since     time.Time
	DueAt     time.Time // zero if no time decides
	Attempt   uint32    // of activities: the one under way or due next
	LastError *abi.Error
	Callee    string        // of calls: the name of the callee; empty if it is not known
	State     journal.State // of the callee
}

// Inspection is the state of a run.
type Inspection struct {
	// Fuel is the fuel used by its turns.
	Fuel int64
	// Pending are the ops the execution waits for, in order of issue.
	Pending []PendingOp
	// Resident tells whether an instance was warm.
	Resident bool
}

// KindTurn is the kind of a pending op that stands for code which computes: the execution waits for nothing else.
const KindTurn = "turn"

// inspected is the reply to an inspectRequest.
type inspected struct {
	Inspection
	err error
}
