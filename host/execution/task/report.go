package task

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// Report tells a run something about one of its tasks.
type Report interface{ isReport() }

type (
	// Done brings the outcome of an op, not journaled yet.
	Done struct {
		Step     journal.StepID
		Attempts uint32
		Outcome  abi.Outcome
		At       int64 // when it came to be
	}
	// CalleeOver says how a callee has ended.
	CalleeOver struct{ ledger.Result }
	// Awaits says that a callee will send its result, or an entity its answer: the host has nothing to do for the op.
	Awaits struct{ Step journal.StepID }
	// Begins asks whether an attempt may begin that an earlier host may have begun before.
	Begins struct {
		Step  journal.StepID
		Reply chan<- bool
	}
	// AttemptFailed says that an attempt of an activity failed.
	AttemptFailed struct {
		Step journal.StepID
		Err  *abi.Error
	}
	// Committed brings an entry that a transaction made durable.
	Committed struct{ Entry journal.Entry }
	// Void says that a reserved sequence number stays a gap.
	Void struct{ Seq uint64 }
	// Dropped says that the host gave up on an op without an outcome. It is performed again if it is still waited
	// for.
	Dropped struct{ Step journal.StepID }
	// Fault says that the host panicked while it performed an op. If Seq is not 0 a transaction
	// had reserved it, and only the journal tells its outcome.
	Fault struct {
		Step  journal.StepID
		Seq   uint64
		Fault *hostfault.Fault
	}
	// Stuck says that the host cannot perform an op: the execution is to be paused.
	Stuck struct {
		Step journal.StepID
		Err  *abi.Error
	}
)

func (Done) isReport()          {}
func (CalleeOver) isReport()    {}
func (Awaits) isReport()        {}
func (Begins) isReport()        {}
func (AttemptFailed) isReport() {}
func (Committed) isReport()     {}
func (Void) isReport()          {}
func (Dropped) isReport()       {}
func (Fault) isReport()         {}
func (Stuck) isReport()         {}
