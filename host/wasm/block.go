package wasm

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/symbolize"
)

// A guest that blocks is ended, and its author wants to know where it did. In Go the sleeping
// goroutine is not the running one: the scheduler is, when it has nothing else to do. Which
// goroutine waits for which event, Go's runtime knows, and it says so when it dies. So poll_oneoff fails
// for a Go program, which its runtime does not survive: it writes its report, as for a deadlock,
// and exits.
//
// A guest that may block, and does so until its deadline, ends in the same way: it is given some fuel more, to
// write its report.
//
// Whatever the guest makes of the failure, the turn has failed: the refusal is noted. A second one ends the
// guest at once, as the first does if it is no Go program.

// refuseToBlock ends a guest that would block, or has poll_oneoff fail.
func (i *Instance) refuseToBlock(d time.Duration) {
	refused := fault(abi.CodeBlockingSleep, "the module tried to block for %v", d)
	if i.blocked != nil || !i.isGo() {
		panic(refused)
	}
	i.blocked, i.pollFails = i.newTrapLocked(refused.err, ""), true // without the report that follows
	i.naps = 0                                                      // it naps while it dies
}

// maxReportSlices bounds the fuel for a report, in slices of it.
const maxReportSlices = 2000

// endBlocked has a guest say where it blocks, if it has done so until its deadline.
func (i *Instance) endBlocked() {
	late := i.stopped() != nil && errors.Is(context.Cause(i.turnCtx), context.DeadlineExceeded) &&
		i.module.runtime.life.Err() == nil
	if !late || i.blocked != nil || !i.isGo() {
		return
	}
	i.blocked = i.newTrapLocked(
		abi.Errorf(abi.CodeGuestTimeout, "the module blocked until its deadline and was stopped"), "",
	)
	i.pollFails = !i.crash.HasReport() // otherwise it writes one already
	i.reportSlices = maxReportSlices
}

// mayReport tells whether a guest whose time is up is given another slice, for its report.
func (i *Instance) mayReport() bool {
	i.reportSlices = max(0, i.reportSlices-1)
	return i.reportSlices > 0 && i.module.runtime.life.Err() == nil
}

func (i *Instance) isGo() bool {
	return i.linear != nil && symbolize.IsGo(i.linear.bytes())
}

// blockedLocked is the end of a guest that would have blocked in its turn; nil if it would not.
func (i *Instance) blockedLocked() error {
	if i.blocked == nil {
		return nil
	}
	if asleep := i.crash.Sleepers(); len(asleep) > 0 {
		return i.blocked.in(": " + strings.Join(asleep, "; "))
	}
	return i.blocked
}

// pollListener has a call of poll_oneoff fail that was refused. The engine hands the results to it before the
// guest sees them. If it did not, the guest would try again, and that ends it.
type pollListener struct{}

var _ experimental.FunctionListener = pollListener{}

// errnoNotSupported is WASI's number for it.
const errnoNotSupported = 58

// Before implements [experimental.FunctionListener].
func (pollListener) Before(context.Context, api.Module, api.FunctionDefinition, []uint64, experimental.StackIterator) {
}

// After implements [experimental.FunctionListener].
func (pollListener) After(ctx context.Context, _ api.Module, _ api.FunctionDefinition, results []uint64) {
	if i, ok := ctx.Value(instanceKey{}).(*Instance); ok && i.pollFails && len(results) > 0 {
		results[0], i.pollFails = errnoNotSupported, false // not those of a runtime that dies
	}
}

// Abort implements [experimental.FunctionListener].
func (pollListener) Abort(context.Context, api.Module, api.FunctionDefinition, error) {}
