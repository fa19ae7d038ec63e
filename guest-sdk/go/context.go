package cruster

import (
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Context gives a workflow access to its execution. Each coroutine has its own: [Go] and [Async] pass a new context to
// their function, and a durable call on the context of another coroutine panics.
//
// It is not a context.Context on purpose: waiting on a Done channel would block the host instead of parking the
// workflow. Use [Interrupted] and the errors of durable calls instead of a Done channel.
type Context struct {
	scope guest.Scope
}

// ExecutionID is the id of the execution: DEPLOYMENT/WORKFLOW/KEY.
func ExecutionID(ctx Context) string { return ctx.scope.Execution() }

// Namespace is the tenant of the execution.
func Namespace(ctx Context) string { return ctx.scope.Namespace() }

// Now is the time of the journal: the moment of the last delivery. It does not move while the workflow computes, and is
// the same on every replay.
func Now(ctx Context) time.Time { return ctx.scope.Now() }

// Rand is the random source of the execution. It is seeded from the execution id, so a replay draws the same numbers.
func Rand(ctx Context) *rand.Rand { return ctx.scope.Rand() }

// UUID draws a random UUID (version 4) from [Rand].
func UUID(ctx Context) string {
	r := ctx.scope.Rand()
	var u [16]byte
	for i := range u {
		u[i] = byte(r.Uint32())
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	text := make([]byte, 36)
	hex.Encode(text[0:8], u[0:4])
	hex.Encode(text[9:13], u[4:6])
	hex.Encode(text[14:18], u[6:8])
	hex.Encode(text[19:23], u[8:10])
	hex.Encode(text[24:36], u[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text)
}

// Logger writes records of this execution to the host's log.
func Logger(ctx Context) *slog.Logger {
	return slog.New(&logHandler{to: ctx.scope.Host()})
}

// Interrupted tells whether a client asked the execution to stop. On a shielded context it is false.
func Interrupted(ctx Context) bool { return ctx.scope.Interrupted() }

// InterruptReason is the reason that the client gave when it asked the execution to stop; empty if there is none.
func InterruptReason(ctx Context) string { return ctx.scope.Reason() }

// Shield returns a context on which durable calls go on after an interrupt, and after ctx was
// cancelled. Use it for the steps that clean up:
//
//	if errors.Is(err, cruster.ErrInterrupted) {
//		_, _ = Refund.Call(cruster.Shield(ctx), charge)
//		return err
//	}
func Shield(ctx Context) Context { return Context{scope: ctx.scope.Shield()} }
