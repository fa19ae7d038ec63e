package crustertest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// attemptHost is the host of one attempt of an activity, or of one call of an operation.
type attemptHost struct {
	world     *world
	execution string // or the entity
	kind      string // the kind of attempt: "activity"
	name      string
	stub      bool // the code is the test's
	tx        Transaction

	// calls is held by calls of the attempt, and locked to give the attempt up.
	calls sync.RWMutex
	over  bool // guarded by calls; the attempt was given up
}

var (
	_ guest.Host    = (*attemptHost)(nil)
	_ guest.Locator = (*attemptHost)(nil)
)

// Packages of the SDK know by it that they run in a test.
func init() { guest.KitIsHere() }

// grace is the wait beyond the limit of an attempt, so that an attempt that heeds its context
// returns its own error.
const grace = time.Second

// start runs the code of an attempt on a goroutine of its own, so that a hanging attempt can be
// abandoned. Its outcome is nil then, and hangs says where. The goroutine stays: Go cannot end it.
//
// If the code ends its goroutine, as t.FailNow does in a stub, the caller's goroutine ends as well.
func (h *attemptHost) start(
	registry *guest.Registry, inv abi.Invocation, limit time.Duration,
) (out *abi.Outcome, hangs string) {
	id := make(chan int, 1)
	done := make(chan *abi.Outcome, 1)
	go func() {
		defer close(done)
		id <- stacks.ID()
		guest.AsAttempt(h.stub, func() {
			_, out := registry.Start(h, inv, guest.Options{})
			done <- out
		})
	}()
	timer := time.NewTimer(limit + grace)
	defer timer.Stop()
	select {
	case out, returned := <-done:
		if !returned {
			runtime.Goexit()
		}
		if err := h.endTransaction(out.Error == nil); err != nil && out.Error == nil {
			out = &abi.Outcome{Error: commitError(err)}
		}
		return out, ""
	case <-timer.C:
		hangs = where(<-id)
		h.giveUp()
		return nil, hangs
	}
}

// where says in which of the author's lines a goroutine runs or waits.
func where(id int) string {
	all := stacks.Take()
	i := slices.IndexFunc(all, func(g stacks.Goroutine) bool { return g.ID == id })
	switch {
	case i < 0:
		return ""
	case isBlocked(all[i]) || all[i].State == "sleep":
		return stacks.WhoWaits(all[i : i+1])
	}
	return all[i].Where()
}

// giveUp undoes the effects of the attempt, and refuses its further calls. If it hangs in a call,
// that is done when the call comes back.
func (h *attemptHost) giveUp() {
	end := func() {
		h.over = true
		_ = h.endTransaction(false) // nothing of it is kept
		h.calls.Unlock()
	}
	if h.calls.TryLock() {
		end()
		return
	}
	go func() {
		h.calls.Lock()
		end()
	}()
}

// Issue refuses: durable ops are only available in workflows.
func (h *attemptHost) Issue(op *guest.Call, _ []byte) (uint32, *abi.Error) {
	return 0, abi.Errorf(abi.CodeWrongContext, "%s was called in an %s", op.Name, h.kind)
}

// Cancel does nothing: an attempt has no ops.
func (h *attemptHost) Cancel(uint32) {}

// Log passes a record on to the test.
func (h *attemptHost) Log(level int32, record string) { h.LogAt(0, level, record) }

// LogAt is Log of a record whose place is known.
func (h *attemptHost) LogAt(pc uintptr, level int32, record string) {
	h.calls.RLock()
	defer h.calls.RUnlock()
	if h.over {
		return // the test may be over, too
	}
	h.world.logAt(pc, h.execution, level, abi.LogText([]byte(record)))
}

// Do performs an immediate call.
func (h *attemptHost) Do(call *guest.Call, body []byte) ([]byte, *abi.Error) {
	h.calls.RLock()
	defer h.calls.RUnlock()
	if h.over {
		return nil, abi.Errorf(abi.CodeActivityTimeout, "the attempt of %s %s is over", h.kind, h.name)
	}
	reply, err := h.perform(call.Name, body)
	if err != nil {
		return nil, abi.AsError(err)
	}
	return abi.MustMarshal(reply), nil
}

func (h *attemptHost) perform(name string, body []byte) (any, error) {
	switch name {
	case abi.ImportConfig:
		var b abi.ConfigRequest
		if err := abi.DecodeBody(body, &b); err != nil {
			return nil, err
		}
		value, found := h.world.cfg.config[b.Name]
		return abi.ConfigReply{Found: found, Value: value}, nil
	case abi.ImportHTTP:
		var b abi.HTTPRequest
		if err := abi.DecodeBody(body, &b); err != nil {
			return nil, err
		}
		return h.http(b)
	case abi.ImportHTTPAll:
		var b abi.HTTPAll
		if err := abi.DecodeBody(body, &b); err != nil {
			return nil, err
		}
		return h.httpAll(b)
	case abi.ImportTxExec, abi.ImportTxQuery:
		var b abi.SQL
		if err := abi.DecodeBody(body, &b); err != nil {
			return nil, err
		}
		return h.sql(name, b)
	case abi.ImportTxRollback:
		return nil, h.endTransaction(false)
	}
	return nil, fmt.Errorf("crustertest: call %q is unknown", name)
}

// missing is the error of a call that needs something the test did not provide.
func (h *attemptHost) missing(what, option string) error {
	stub := "crustertest.Stub"
	if h.kind == "operation" {
		stub = "crustertest.StubOperation"
	}
	return abi.Errorf(abi.CodeWrongContext, "%s %s uses %s, which the test does not provide", h.kind, h.name, what).
		WithHint("Replace the %s with %s, or provide %s with %s.", h.kind, stub, what, option)
}
