package wasm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/cruster/cruster/abi"
)

// Trap is the end of an instance by its own code. It unwraps to the *abi.Error
// that says which kind of end.
type Trap struct {
	Err *abi.Error
	// Stderr is the end of what the guest wrote to standard error, at most 8 KiB.
	Stderr string
	// Backtrace lists the Wasm functions that were active, innermost first; empty
	// if it is not known.
	Backtrace string
}

// Error implements error.
func (t *Trap) Error() string { return t.Err.Error() }

// Unwrap yields the *abi.Error.
func (t *Trap) Unwrap() error { return t.Err }

func (i *Instance) newTrap(err *abi.Error, backtrace string) *Trap {
	return &Trap{Err: err, Stderr: i.crash.stderr(), Backtrace: printable(backtrace)}
}

// explain turns what the engine returned from a call of the guest into a *Trap,
// or into another error if the guest is not to blame. ran is the context of that
// call.
func (i *Instance) explain(ran context.Context, where string, err error) error {
	var host *hostPanic
	if errors.As(err, &host) {
		return abi.Errorf(abi.CodeInternal, "in %s: %s", where, oneLine(host.Error(), 500))
	}
	func() {
		// The world's streams may be what panicked; the crash log has its part by
		// now in any case.
		defer func() { _ = recover() }()
		i.flush()
	}()
	_, backtrace, _ := strings.Cut(err.Error(), "wasm stack trace:\n\t")
	backtrace, _, _ = strings.Cut(backtrace, "\n\nGo runtime stack trace:")

	var broken *guestFault
	if errors.As(err, &broken) {
		return i.newTrap(broken.err, backtrace)
	}
	var exit *sys.ExitError
	switch {
	case ran.Err() != nil && (!errors.As(err, &exit) || exit.ExitCode() == sys.ExitCodeContextCanceled || exit.ExitCode() == sys.ExitCodeDeadlineExceeded):
		return i.explainStop(ran, where)
	case errors.As(err, &exit):
		return i.newTrap(i.explainExit(exit.ExitCode()), "")
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	if _, after, ok := strings.Cut(reason, "wasm error: "); ok {
		reason = after
	}
	reason = strings.TrimSuffix(reason, " (recovered by wazero)")
	return i.newTrap(i.explainCrash(reason), backtrace)
}

// explainStop is for a guest that was stopped.
func (i *Instance) explainStop(ran context.Context, where string) error {
	if i.module.runtime.life.Err() != nil {
		return abi.Errorf(abi.CodeShuttingDown, "the host stopped %s because it is shutting down", where)
	}
	if errors.Is(ran.Err(), context.DeadlineExceeded) {
		return i.newTrap(abi.Errorf(abi.CodeGuestTimeout, "the module did not return from %s before its deadline and was stopped", where), "")
	}
	return i.newTrap(abi.Errorf(abi.CodeGuestTimeout, "the module was stopped in %s because its caller gave up", where), "")
}

// explainExit is for a guest that called proc_exit.
func (i *Instance) explainExit(code uint32) *abi.Error {
	// Go's runtime exits with this code after a panic or a fatal error. Programs
	// may write lines that look like its report, and go on: with any other code
	// they do not count.
	const goCrash = 2
	if code == goCrash {
		if err := i.explainReport(); err != nil {
			return err
		}
	}
	return abi.Errorf(abi.CodeGuestExit, "the module called exit with code %d%s", code, lastWords(i.crash.tail))
}

// explainCrash is for a Wasm trap.
func (i *Instance) explainCrash(reason string) *abi.Error {
	if err := i.explainReport(); err != nil {
		return err
	}
	// Languages without a word for it just trap when memory.grow fails, so a trap
	// close to the limit counts as running into it.
	limit := i.module.runtime.cfg.MemoryLimit
	if reason == "unreachable" && i.memorySize() >= limit-limit/16 {
		return i.outOfMemory("")
	}
	return abi.Errorf(abi.CodeGuestTrap, "the module crashed: %s", oneLine(reason, 200))
}

// explainReport is for a guest whose language left a report on standard error;
// nil if there is none.
func (i *Instance) explainReport() *abi.Error {
	report := readReport(i.crash.report)
	switch {
	case report.headline == "":
		return nil
	case strings.HasPrefix(report.headline, "fatal error: all goroutines are asleep"):
		return abi.Errorf(abi.CodeGuestDeadlock, "all goroutines of the module wait for each other%s", report.where())
	case strings.HasPrefix(report.headline, "fatal error: all tasks are asleep"):
		return abi.Errorf(abi.CodeGuestDeadlock, "all tasks of the module wait for futures that nothing completes")
	case report.outOfMemory:
		return i.outOfMemory(report.where())
	}
	return abi.Errorf(abi.CodeGuestTrap, "the module crashed: %s%s", report.headline, report.where())
}

func (i *Instance) outOfMemory(where string) *abi.Error {
	return abi.Errorf(abi.CodeGuestMemory, "the module ran out of memory at %d KiB of %d KiB%s", i.memorySize()>>10, i.module.runtime.cfg.MemoryLimit>>10, where)
}

func (i *Instance) memorySize() int64 {
	if i.mod == nil {
		return 0
	}
	return int64(i.mod.Memory().Size())
}

// lastWords quotes the last line of standard error.
func lastWords(tail []byte) string {
	lines := strings.Split(strings.TrimRight(string(tail), "\n"), "\n")
	if last := oneLine(lines[len(lines)-1], 200); last != "" {
		return ": " + last
	}
	return ""
}

// crashReport is the essence of what a language's runtime writes when it dies.
type crashReport struct {
	headline    string
	frames      []string
	outOfMemory bool
}

// readReport understands the reports of Go and of Rust.
func readReport(report []byte) crashReport {
	var r crashReport
	lines := strings.Split(string(report), "\n")
	for n, line := range lines {
		switch {
		case strings.Contains(line, "out of memory"), strings.Contains(line, "cannot allocate memory"), strings.HasPrefix(line, "memory allocation of "):
			r.outOfMemory = true
		case strings.HasPrefix(line, "\t") && n > 0 && len(r.frames) < 3:
			if frame, ok := goFrame(lines[n-1], line); ok {
				r.frames = append(r.frames, frame)
			}
		}
		if r.headline == "" || strings.HasPrefix(r.headline, "runtime: ") && strings.HasPrefix(line, "fatal error: ") {
			r.headline = oneLine(line, 500)
		}
		if strings.HasPrefix(line, "thread '") && n+1 < len(lines) {
			r.headline = oneLine(line+" "+lines[n+1], 500)
		}
	}
	return r
}

// dullFrames are prefixes of frames that say nothing about the user's code.
var dullFrames = []string{"runtime.", "internal/", "sync.", "panic", "goroutine ", "created by runtime"}

// goFrame reads two lines of a Go stack trace, "main.f(0x1, …)" and
// "\t/src/main.go:12 +0x3", as "main.f main.go:12".
func goFrame(function, position string) (string, bool) {
	name, _, ok := strings.Cut(function, "(")
	if open := strings.LastIndexByte(function, '('); open > 0 {
		name = function[:open]
	}
	file, _, _ := strings.Cut(strings.TrimSpace(position), " ")
	if !ok || !strings.Contains(file, ".go:") || slices.ContainsFunc(dullFrames, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return "", false
	}
	return oneLine(fmt.Sprintf("%s %s", strings.TrimPrefix(name, "created by "), path.Base(file)), 120), true
}

// where renders the frames: " (in main.f main.go:12 < main.g main.go:30)".
func (r crashReport) where() string {
	if len(r.frames) == 0 {
		return ""
	}
	return " (in " + strings.Join(r.frames, " < ") + ")"
}
