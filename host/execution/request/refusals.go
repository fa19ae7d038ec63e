package request

import (
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func noExecutionOf(ref Ref) *abi.Error {
	return abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %.300q", ref.Name)
}

// RunGone refuses a request meant for one run alone.
func RunGone() *abi.Error {
	return abi.Errorf(
		abi.CodeExecutionNotFound,
		"the run that this was for is over: it has continued as another one, or retention has deleted it",
	)
}

// ChainGone refuses a request meant for a chain that was deleted, or replaced by another.
func ChainGone() *abi.Error {
	return abi.Errorf(
		abi.CodeExecutionNotFound, "this run of the execution was deleted, or another one has taken its place",
	)
}

// AlreadyOver refuses a request to a finished execution.
func AlreadyOver(row *journal.Execution) error {
	return abi.Errorf(abi.CodeAlreadyOver, "%s is %s", row.Name(), row.State)
}

func settledBefore(name string, row *journal.Execution) error {
	return abi.Errorf(abi.CodeDeferredSettled, "the deferred %q of %s was settled before", name, row.Name())
}

func settledFull(row *journal.Execution) error {
	return abi.Errorf(
		abi.CodeExecutionTooLong, "%s has as many settled deferreds as it may; the limits are %d and %d MiB",
		row.Name(), journal.MaxSettled, journal.MaxSettledBytes>>20,
	).
		WithHint("Keep large data in your database or object store and settle with a reference, or let another " +
			"execution wait for the rest.")
}

// CheckReason refuses a reason that is too long, and makes it valid UTF-8.
func CheckReason(reason string) (string, error) {
	if len(reason) > abi.MaxReason {
		return "", abi.Errorf(
			abi.CodeBadRequest, "the reason has %d bytes, the limit is %d", len(reason), abi.MaxReason,
		)
	}
	return strings.ToValidUTF8(reason, "\uFFFD"), nil
}
