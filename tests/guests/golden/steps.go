//go:build wasip1

package main

import (
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

const millisecond = time.Millisecond

var (
	_ = cruster.Migrations(cruster.Migration{Version: 1, Name: "effects", SQL: `CREATE TABLE effects (key TEXT NOT NULL)`})

	open   = cruster.NewDeferred[string]("open")
	answer = cruster.NewDeferred[string]("answer")
	denied = cruster.NewDeferred[string]("denied")
	own    = cruster.NewDeferred[string]("own")
	late   = cruster.NewDeferred[string]("late")
	never  = cruster.NewDeferred[string]("never")

	note = cruster.NewActivity("note", func(ctx *cruster.ActivityContext, text string) (string, error) {
		return fmt.Sprint(text, " ", ctx.Attempt(), " ", ctx.IdempotencyKey()), nil
	})
	write = cruster.NewActivity("write", func(ctx *cruster.ActivityContext, _ cruster.None) (int64, error) {
		return ctx.Tx().Exec("INSERT INTO effects (key) VALUES ($1)", ctx.IdempotencyKey())
	})
	fail = cruster.NewActivity("fail", func(ctx *cruster.ActivityContext, _ cruster.None) (string, error) {
		return "", cruster.WithDetails(cruster.Errorf("declined", "attempt %d was declined", ctx.Attempt()), map[string]string{"key": ctx.IdempotencyKey()})
	}, cruster.Retries(1), cruster.ConstantBackoff(millisecond))

	// Callee is called and sent to.
	Callee = cruster.NewWorkflow("Callee", func(ctx cruster.Context, name string) (string, error) {
		if name == "fails" {
			return "", cruster.Errorf("failed", "the callee failed")
		}
		return name + " " + cruster.UUID(ctx), nil
	}, cruster.RawKey(func(name string) string { return name }))
)

// steps calls activities.
func (s *seen) steps(ctx cruster.Context) {
	value, err := note.Call(ctx, "first")
	s.result("an activity", value, err)
	value, err = note.Call(ctx, "first")
	s.result("the same once more", value, err)
	value, err = note.With(cruster.ActivityKey("explicit")).Call(ctx, "keyed")
	s.result("with a key", value, err)
	n, err := write.Call(ctx, cruster.None{})
	s.result("with SQL", n, err)
	value, err = fail.Call(ctx, cruster.None{})
	s.result("that fails", value, err)
	s.add("entries, with those of failed attempts", cruster.HistoryLen(ctx))
}

// deferreds waits for some, and settles its own.
func (s *seen) deferreds(ctx cruster.Context) {
	value, err := answer.Await(ctx)
	s.result("answer", value, err)
	value, err = denied.Await(ctx)
	s.result("denied", value, err)
	for _, text := range []string{"mine", "too late"} {
		first, err := own.Resolve(ctx, text)
		s.result("resolve "+text, first, err)
	}
	value, err = own.Await(ctx)
	s.result("own", value, err)
	first, err := own.ResolveIn(ctx, "golden/Callee/missing", "no one is there")
	s.result("resolve elsewhere", first, err)
}

// callees calls, sends and polls.
func (s *seen) callees(ctx cruster.Context) {
	value, err := Callee.Client().Execute(ctx, "called")
	s.result("call", value, err)
	value, err = Callee.Client().Execute(ctx, "fails")
	s.result("call of one that fails", value, err)
	id, err := Callee.Client().Start(ctx, "sent")
	s.result("send", id, err)
	status, err := Callee.Client().Poll(ctx, "golden/Callee/called")
	s.result("poll", fmt.Sprint(status.State, " ", status.Done, " ", status.Result), err)
	status, err = Callee.Client().Poll(ctx, "golden/Callee/missing")
	s.result("poll of none", status.State, err)
	value, err = cruster.RemoteWorkflow[string, string]("Missing").Execute(ctx, "x")
	s.result("call of none", value, err)
}

// waits has ops race each other, and asks about changes of the code.
func (s *seen) waits(ctx cruster.Context) {
	s.add("patched", []bool{cruster.Patched(ctx, "one"), cruster.Patched(ctx, "one"), cruster.Patched(ctx, "two")})
	value, err := cruster.WithTimeout(ctx, millisecond, late.Future(ctx))
	s.result("timeout", value, err)
	index, _, err := cruster.First(ctx, cruster.Timer(ctx, time.Hour), cruster.Timer(ctx, millisecond))
	s.result("first", index, err)
	_, err = cruster.All(ctx, cruster.Timer(ctx, 2*millisecond), cruster.Timer(ctx, millisecond))
	s.result("all", nil, err)
}

// interrupt waits until it is interrupted, and cleans up.
func (s *seen) interrupt(ctx cruster.Context) {
	s.add("interrupted before", cruster.Interrupted(ctx))
	value, err := never.Await(ctx)
	s.result("never", value, err)
	s.add("interrupted", []any{cruster.Interrupted(ctx), cruster.InterruptReason(ctx)})
	value, err = note.Call(ctx, "not shielded")
	s.result("not shielded", value, err)
	value, err = note.Call(cruster.Shield(ctx), "shielded")
	s.result("shielded", value, err)
	s.clock(ctx)
}
