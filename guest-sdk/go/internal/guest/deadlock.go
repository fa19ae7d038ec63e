package guest

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// maxListed bounds how many coroutines the report of a deadlock lists, and how many things one waits for.
const (
	maxListed   = 20
	maxWaitsFor = 4
)

// failOnDeadlock ends an execution whose coroutines wait for each other while no op that they wait for is pending: if
// it parked, it would wait forever and the host could not tell why. An interrupt would end such waits, but a workflow
// must not depend on one.
func (ex *Execution) failOnDeadlock() {
	if ex.outcome != nil || ex.begin != nil {
		return
	}
	if ex.ops.hasOther(ex.interruption) && (ex.signals == nil && ex.updates == nil || !ex.onlyIdle()) {
		return
	}
	waits := ex.waits()
	if ex.opts == (Options{}) {
		// The host recognises the first line, and shows the others.
		fmt.Fprintf(os.Stderr, "fatal error: all tasks are asleep - deadlock!\n%s\n", strings.Join(waits, "\n"))
		os.Exit(2)
	}
	ex.outcome = &abi.Outcome{
		Error: abi.Errorf(
			abi.CodeGuestDeadlock, "%s: %s", abi.CodeGuestDeadlock.Info().Title, strings.Join(waits, "; "),
		),
	}
}

// waits says for each coroutine where it began, its wait and where it waits, in the author's lines.
//
// Each is given control once more to look at its own stack, and gives control back. So a wait
// costs nothing as long as there is no deadlock.
func (ex *Execution) waits() []string {
	all := ex.coroutines()
	rest := len(all) - maxListed
	if rest > 0 {
		all = all[:maxListed]
	}
	ex.locating = true
	defer func() { ex.locating = false }()
	var lines []string
	for _, co := range all {
		if co.waiting == nil {
			continue // the dispatcher is at work, so none runs
		}
		ex.handOver(co)
		lines = append(lines, co.describe())
	}
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", rest))
	}
	return lines
}

// describe says where a coroutine began and its wait, once it has found the lines.
func (co *Coroutine) describe() string {
	began := "the workflow itself"
	switch {
	case co.serves != Label{}:
		began = "begun for " + co.serves.String()
	case co.began[0] != 0:
		began = "begun at " + authorLine(co.began[:])
	}
	return fmt.Sprintf("coroutine %d, %s, waits for %s at %s", co.id, began, co.waiting.describe(), co.at)
}

// describe names the awaited event.
func (w *waiter) describe() string {
	var whats []string
	for i, p := range w.promises {
		if i == maxWaitsFor {
			whats = append(whats, fmt.Sprintf("%d more", len(w.promises)-i))
			break
		}
		whats = append(whats, p.describe())
	}
	if len(whats) == 0 {
		return "nothing"
	}
	return strings.Join(whats, " or ")
}

func (p *Promise) describe() string {
	if p.runs != nil {
		return "coroutine " + strconv.Itoa(p.coroutine)
	}
	if what, ok := map[string]string{
		"Acquire":   "a semaphore",
		"Receive":   "a channel",
		"Send":      "room in a channel",
		"Wait":      "a wait group",
		"WaitUntil": "a condition",
	}[p.what.Kind]; ok {
		return what
	}
	return p.What()
}

// locate takes note of the author's line that the coroutine is at.
func (co *Coroutine) locate() {
	var pcs [64]uintptr
	co.at = authorLine(pcs[:runtime.Callers(2, pcs[:])])
}

// authorLine is the innermost line of a stack that is neither the SDK's nor Go's own.
func authorLine(pcs []uintptr) string {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.Function != "" && !inSDK(f) {
			return stacks.Place(f.File, f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

// inSDK tells whether a frame is of the SDK, or of the runner of its coroutines.
func inSDK(f runtime.Frame) bool {
	const sdk = "github.com/cruster/cruster/guest-sdk/go"
	rest, ok := strings.CutPrefix(f.Function, sdk)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '/') && !strings.HasSuffix(f.File, "_test.go") ||
		strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "iter.")
}
