package crustertest

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// logTo has the log go to the output of a test. Lines of testing.TB.Log would begin with a line of the kit; these
// begin with the author's.
func logTo(t testing.TB) Option {
	return func(c *config) {
		c.logf = func(format string, args ...any) { fmt.Fprintf(t.Output(), format+"\n", args...) }
	}
}

// log writes a line of the simulated host.
func (w *world) log(execution string, level int32, text string) { w.logAt(0, execution, level, text) }

// logAt writes a line that code has logged at a place: "orders/orders.go:41: 2030-01-01T00:00:00.000 INFO
// test/Order/42: charged".
func (w *world) logAt(pc uintptr, execution string, level int32, text string) {
	at := "crustertest"
	if pc != 0 {
		f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		at = stacks.Place(f.File, f.Line)
	}
	w.cfg.logf("%s: %s %s %s: %s", at, w.now.Format("2006-01-02T15:04:05.000"), slog.Level(level), execution, text)
}

// crashed logs the whole stack of a panic in a test that is to say more (go test -v): errors have the author's lines
// only.
func (w *world) crashed(what, stack string) {
	if testing.Testing() && testing.Verbose() {
		w.log(what, abi.LogError, "the stack of the panic:\n"+stack)
	}
}
