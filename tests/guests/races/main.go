// Command races is the module for tests of interleavings: its workflows race activities that use SQL, cancel them, and
// await and settle deferreds late.
package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var (
	early = cruster.NewDeferred[string]("early")
	gate  = cruster.NewDeferred[string]("gate")
)

var byKey = cruster.RawKey(func(key string) string { return key })

// insert writes a row.
var insert = cruster.NewActivity("insert", func(ctx *cruster.ActivityContext, step string) (string, error) {
	_, err := ctx.Tx().Exec(`INSERT INTO races (execution, step) VALUES ($1, $2)`, ctx.ExecutionID(), step)
	return step, err
})

// Race takes the first of two steps, cancels the other, and goes on.
var Race = cruster.NewWorkflow("Race", func(ctx cruster.Context, _ string) (string, error) {
	both := []cruster.Future[string]{insert.Go(ctx, "one"), insert.Go(ctx, "two")}
	first, _, err := cruster.First(ctx, both...)
	if err != nil {
		return "", err
	}
	both[1-first].Cancel(ctx)
	return "over", cruster.Sleep(ctx, time.Millisecond)
}, byKey)

// Late awaits an open deferred, and then another one, which may be settled already.
var Late = cruster.NewWorkflow("Late", func(ctx cruster.Context, _ string) (string, error) {
	if _, err := gate.Await(ctx); err != nil {
		return "", err
	}
	return early.Await(ctx)
}, byKey).Accepts(early, gate)

// Resolve settles its own deferred twice, and returns both replies.
var Resolve = cruster.NewWorkflow("Resolve", func(ctx cruster.Context, _ string) ([]bool, error) {
	first, err := early.Resolve(ctx, "mine")
	if err != nil {
		return nil, err
	}
	second, err := early.Resolve(ctx, "mine")
	return []bool{first, second}, err
}, byKey).Accepts(early)

// Long sleeps for ten minutes, unless a deferred is settled or it is interrupted.
var Long = cruster.NewWorkflow("Long", func(ctx cruster.Context, _ string) (string, error) {
	return cruster.WithTimeout(ctx, 10*time.Minute, gate.Future(ctx))
}, byKey).Accepts(gate)

// Parent runs two children, and records that they have ended.
var Parent = cruster.NewWorkflow("Parent", func(ctx cruster.Context, key string) (string, error) {
	late, race := Late.Client().Go(ctx, key+"-late"), Race.Client().Go(ctx, key+"-race")
	one, err := late.Await(ctx)
	if err != nil {
		return "", err
	}
	two, err := race.Await(ctx)
	if err != nil {
		return "", err
	}
	return insert.Call(ctx, one+" "+two)
}, byKey)

var _ = cruster.Migrations(cruster.Migration{Version: 1, Name: "races", SQL: `
CREATE TABLE races (
	execution TEXT NOT NULL,
	step      TEXT NOT NULL
)`})

func main() {}
