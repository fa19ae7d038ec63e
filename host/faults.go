package host

import "github.com/cruster/cruster/host/fault"

// Names that callers use until they import host/fault.
const (
	FaultStartBeforeCommit  = fault.StartBeforeCommit
	FaultStartAfterCommit   = fault.StartAfterCommit
	FaultTurnBeforeCommit   = fault.TurnBeforeCommit
	FaultTurnAfterCommit    = fault.TurnAfterCommit
	FaultTurnAfterEffects   = fault.TurnAfterEffects
	FaultFinalAfterCommit   = fault.FinalAfterCommit
	FaultActivityBefore     = fault.ActivityBefore
	FaultActivityAfter      = fault.ActivityAfter
	FaultTxBeforeCommit     = fault.TxBeforeCommit
	FaultTxAfterCommit      = fault.TxAfterCommit
	FaultSettleBeforeCommit = fault.SettleBeforeCommit
	FaultSettleAfterCommit  = fault.SettleAfterCommit
	FaultEvict              = fault.Evict
	FaultReplay             = fault.Replay
)

// FaultPoints lists them all.
var FaultPoints = fault.Points
