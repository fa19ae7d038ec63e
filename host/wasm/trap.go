package wasm

import (
	"context"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/symbolize"
)

// Trap is the end of an instance by its own code. It unwraps to the *abi.Error that says which kind of end.
type Trap struct {
	Err *abi.Error
	// Stderr is the end of the guest's output to standard error, at most 8 KiB.
	Stderr string
	// Backtrace lists the Wasm functions that were active, innermost first; empty if it is not known.
	Backtrace string
	// Place says where the guest was when it was stopped, as the end of a sentence: " (in main.f
	// (orders/main.go:12))" or ": goroutine 7, in main.f, waits (sleep) at orders/main.go:12". It is
	// part of the message of Err. Empty if it is not known.
	Place string
}

// Error implements error.
func (t *Trap) Error() string { return t.Err.Error() }

// Unwrap yields the *abi.Error.
func (t *Trap) Unwrap() error { return t.Err }

func (i *Instance) newTrapLocked(err *abi.Error, backtrace string) *Trap {
	return &Trap{Err: err, Stderr: i.crash.Stderr(), Backtrace: symbolize.Printable(backtrace)}
}

// in adds the place.
func (t *Trap) in(place string) *Trap {
	t.Place = place
	t.Err.Message += place
	return t
}

// explainLocked turns the engine's error from a call of the guest into a *Trap, or into another
// error if the guest is not to blame. ran is the context of that call.
func (i *Instance) explainLocked(ran context.Context, where string, err error) error {
	var host *hostPanic
	if errors.As(err, &host) {
		return abi.Errorf(abi.CodeInternal, "in %s: %s", where, symbolize.OneLine(host.Error(), 500))
	}
	if starved := i.starvedLocked(where); starved != nil {
		return starved
	}
	func() {
		// The world's streams may have panicked; the crash log has its part by now in any case.
		defer func() { _ = recover() }()
		i.flushLocked()
	}()
	_, backtrace, _ := strings.Cut(err.Error(), "wasm stack trace:\n\t")
	backtrace, _, _ = strings.Cut(backtrace, "\n\nGo runtime stack trace:")

	if blocked := i.blockedLocked(); blocked != nil {
		return blocked
	}
	var broken *guestFault
	if errors.As(err, &broken) {
		if broken.err.Code == abi.CodeGuestTimeout || broken.err.Code == abi.CodeBlockingSleep {
			return i.newTrapLocked(broken.err, backtrace).in(i.stoppedIn(backtrace))
		}
		return i.newTrapLocked(broken.err, backtrace)
	}
	var exit *sys.ExitError
	switch {
	case ran.Err() != nil &&
		(!errors.As(err, &exit) || exit.ExitCode() == sys.ExitCodeContextCanceled ||
			exit.ExitCode() == sys.ExitCodeDeadlineExceeded):
		return i.explainStopLocked(ran, where, backtrace)
	case errors.As(err, &exit):
		trap := i.newTrapLocked(i.explainExitLocked(exit.ExitCode(), backtrace), "")
		if trap.Err.Code == abi.CodeGuestDeadlock {
			trap.Place = strings.TrimPrefix(trap.Err.Message, abi.CodeGuestDeadlock.Info().Title)
		}
		return trap
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	if _, after, ok := strings.Cut(reason, "wasm error: "); ok {
		reason = after
	}
	reason = strings.TrimSuffix(reason, " (recovered by wazero)")
	return i.newTrapLocked(i.explainCrashLocked(reason, backtrace), backtrace)
}

// explainStopLocked is for a guest that was stopped.
func (i *Instance) explainStopLocked(ran context.Context, where, backtrace string) error {
	if i.module.runtime.life.Err() != nil {
		return abi.Errorf(abi.CodeShuttingDown, "the host stopped the module in %s because it is shutting down", where)
	}
	if errors.Is(context.Cause(ran), context.DeadlineExceeded) {
		late := abi.Errorf(abi.CodeGuestTimeout, "the module did not return from %s before its deadline", where)
		return i.newTrapLocked(late, backtrace).in(i.stoppedIn(backtrace))
	}
	return i.newTrapLocked(
		abi.Errorf(abi.CodeGuestTimeout, "the module was stopped in %s because its caller gave up", where), "",
	)
}

// explainExitLocked is for a guest that called proc_exit.
func (i *Instance) explainExitLocked(code uint32, backtrace string) *abi.Error {
	// Go's runtime exits with this code after a panic or a fatal error. Programs may write lines that look like its
	// report, and go on: with any other code they do not count.
	const goCrash = 2
	if code == goCrash {
		if err := i.explainReportLocked(backtrace); err != nil {
			return err
		}
	}
	return abi.Errorf(abi.CodeGuestExit, "the module called exit with code %d%s", code, i.crash.LastLine())
}

// explainCrashLocked is for a Wasm trap.
func (i *Instance) explainCrashLocked(reason, backtrace string) *abi.Error {
	if err := i.explainReportLocked(backtrace); err != nil {
		return err
	}
	// Languages without an error for it just trap when memory.grow fails, so a trap close to the limit counts as
	// running out of memory.
	limit := i.memoryLimit()
	if reason == "unreachable" && i.memorySizeLocked() >= limit-limit/16 {
		return i.outOfMemoryLocked(i.stoppedIn(backtrace))
	}
	return abi.Errorf(
		abi.CodeGuestTrap, "the module crashed: %s%s", symbolize.OneLine(reason, 200), i.stoppedIn(backtrace),
	)
}

// explainReportLocked is for a guest whose language left a report on standard error; nil if there is none.
func (i *Instance) explainReportLocked(backtrace string) *abi.Error {
	report := i.crash.Report()
	switch {
	case report.Headline == "":
		return nil
	case report.AllWait():
		return abi.Errorf(abi.CodeGuestDeadlock, "%s%s", abi.CodeGuestDeadlock.Info().Title, report.WhoWaits())
	case report.OutOfMemory && !report.HasFrames():
		return i.outOfMemoryLocked(i.stoppedIn(backtrace))
	case report.OutOfMemory:
		return i.outOfMemoryLocked(report.Where())
	}
	where := report.Where()
	if report.InLibrary {
		where = i.stoppedIn(backtrace)
	}
	return abi.Errorf(abi.CodeGuestTrap, "the module crashed: %s%s", report.Headline, where)
}

func (i *Instance) outOfMemoryLocked(where string) *abi.Error {
	return abi.Errorf(
		abi.CodeGuestMemory, "the module ran out of memory at %d KiB of %d KiB%s", i.memorySizeLocked()>>10,
		i.memoryLimit()>>10, where,
	)
}

func (i *Instance) memorySizeLocked() int64 {
	if i.mod == nil {
		return 0
	}
	return int64(i.mod.Memory().Size())
}
