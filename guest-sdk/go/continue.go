package cruster

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// ContinueAsNew ends this run of a workflow and has a new one take its place, under the same name and with an empty
// journal. Return it from the workflow's function:
//
//	func bill(ctx cruster.Context, s Subscription) (string, error) {
//		if err := cruster.Sleep(ctx, month); err != nil {
//			return "", err
//		}
//		…
//		s.Period++
//		return "", cruster.ContinueAsNew(s)
//	}
//
// So a workflow can run for years, while its journal stays short. Unread signals, unread updates
// and published values pass to the new run; callers waiting for the result keep waiting. Coroutines
// that still run are dropped, and promises ([Deferred]) belong to a run.
//
// The request must be of the type that the workflow takes.
func ContinueAsNew[Req any](req Req) error { return &continuation{request: req} }

// HistoryLen is how many entries the journal of this run has: one for each result that the workflow
// was given, and one for each attempt of an activity that failed and is tried again. It does not
// change while the workflow computes, and is the same on every replay. A run is paused when its
// journal has 250,000 (CR-2016). In a run that began on an older host, which did not tell, attempts
// are not counted.
func HistoryLen(ctx Context) int { return int(ctx.scope.Entries()) }

// ShouldContinueAsNew tells whether the journal of this run has become long, 10,000 entries, so that
// it is time to go on as a new run. A workflow that never ends asks it where it has nothing under
// way:
//
//	for !cruster.ShouldContinueAsNew(ctx) {
//		if err := charge(ctx, &s); err != nil {
//			return "", err
//		}
//	}
//	return "", cruster.ContinueAsNew(s)
func ShouldContinueAsNew(ctx Context) bool { return ctx.scope.Entries() >= abi.ContinueEntries }

// continuation is the error that asks for a new run.
type continuation struct{ request any }

func (*continuation) Error() string {
	return "the workflow was to go on as a new run: return the error of ContinueAsNew from the function of the workflow"
}

// continued returns err, or its form for the host if it asks for a new run.
func continued[Req any](workflow string, err error) error {
	var next *continuation
	if !errors.As(err, &next) {
		return err
	}
	req, ok := next.request.(Req)
	if !ok {
		panic(abi.Errorf(
			abi.CodeWrongContext, "workflow %s takes a %v, and ContinueAsNew was given a %T", workflow,
			reflect.TypeFor[Req](), next.request,
		).
			WithHint("Give ContinueAsNew the request of the next run, of the type that the workflow takes."))
	}
	input, err := encode("the request of workflow ", workflow, req)
	if err != nil {
		return fmt.Errorf("ContinueAsNew: %w", err)
	}
	return &guest.Continue{Input: input}
}
