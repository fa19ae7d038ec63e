package client

import crusterv1 "github.com/cruster/cruster/api/cruster/v1"

// State of an execution.
type State string

// The states. Completed, failed and interrupted are final.
const (
	Running     State = "running"
	Paused      State = "paused"
	Completed   State = "completed"
	Failed      State = "failed"
	Interrupted State = "interrupted"
)

// Final reports whether the state is the last one of an execution.
func (s State) Final() bool { return s == Completed || s == Failed || s == Interrupted }

// StateOf names a state of the contract.
func StateOf(s crusterv1.State) State {
	switch s {
	case crusterv1.State_STATE_RUNNING:
		return Running
	case crusterv1.State_STATE_PAUSED:
		return Paused
	case crusterv1.State_STATE_COMPLETED:
		return Completed
	case crusterv1.State_STATE_FAILED:
		return Failed
	case crusterv1.State_STATE_INTERRUPTED:
		return Interrupted
	default:
		return ""
	}
}

// wireState is the state of the contract; unspecified for an empty one. A state that does not exist
// becomes an invalid one, which the host refuses.
func wireState(s State) crusterv1.State {
	if s == "" {
		return crusterv1.State_STATE_UNSPECIFIED
	}
	for value := range crusterv1.State_name {
		if StateOf(crusterv1.State(value)) == s {
			return crusterv1.State(value)
		}
	}
	return -1
}
