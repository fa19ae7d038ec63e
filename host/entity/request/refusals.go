package request

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
)

// notAccepted says that a call has not run and will not.
func notAccepted(c *call.Call) error {
	return abi.Errorf(
		abi.CodeDeadline,
		"the caller's deadline passed before %q of %s had its turn: it was not accepted, and nothing has run",
		c.Operation, c.Ref,
	).
		WithHint("Call again, with a later deadline.")
}

// inDoubt says that a call was accepted: it has run, or will.
func inDoubt(c *call.Call) error {
	err := abi.Errorf(
		abi.CodeDeadline,
		"the caller's deadline passed while %q of %s was at work: it was accepted, and takes effect unless it fails",
		c.Operation, c.Ref,
	)
	if c.LeavesReceipt() && (c.Kind != call.Stateless || c.Persisted) {
		return err.WithHint("Call again with the same request id: that returns the outcome, and runs nothing twice.")
	}
	return err.WithHint(
		"Read the entity to see what became of it; a call with a request id can be repeated, unless it is best effort.",
	)
}
