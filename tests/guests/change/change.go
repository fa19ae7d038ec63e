// Package change is a workflow in several versions, for tests that change code under executions that run.
package change

import (
	"slices"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Version says how a version differs from the first one.
type Version struct {
	// Steps before the gate: "reserve", "charge", "audit".
	Steps []string
	// Amount is an argument of charge.
	Amount int
	// Bug makes the workflow panic once it is past the gate.
	Bug bool
}

// Report is the result.
type Report struct {
	// Keys are the idempotency keys of the steps, by name.
	Keys map[string]string `msgpack:"keys"`
	// Steps in the order in which the workflow saw them.
	Steps []string `msgpack:"steps"`
	// UUID was drawn at the start.
	UUID string `msgpack:"uuid"`
	// Reminder is the draw of the callee of this execution.
	Reminder string `msgpack:"reminder"`
}

// Args are the arguments of a step.
type Args struct {
	Amount int    `msgpack:"amount"`
	Order  string `msgpack:"order"`
	Step   string `msgpack:"step"`
}

var (
	_ = cruster.Migrations(cruster.Migration{
		Version: 1,
		Name:    "effects",
		SQL:     `CREATE TABLE effects (order_id TEXT NOT NULL, step TEXT NOT NULL, key TEXT NOT NULL)`,
	})

	gate = cruster.NewDeferred[bool]("gate")

	// remind is a callee: it tells its draw, so that two runs of it differ.
	remind = cruster.NewWorkflow("Remind", func(ctx cruster.Context, order string) (string, error) {
		return cruster.UUID(ctx), nil
	}, cruster.RawKey(func(order string) string { return order }))

	// Follow waits for an order, also if another has started it.
	Follow = cruster.NewWorkflow("Follow", func(ctx cruster.Context, order string) (Report, error) {
		return cruster.RemoteWorkflow[string, Report]("Order").Execute(ctx, order)
	}, cruster.RawKey(func(order string) string { return order }))

	steps = map[string]*cruster.Activity[Args, string]{
		"reserve": step("reserve"), "charge": step("charge"), "audit": step("audit"), "ship": step("ship"),
	}

	count = cruster.NewActivity("count", func(ctx *cruster.ActivityContext, order string) ([]string, error) {
		rows, err := cruster.Query[string](
			ctx.Tx(), "SELECT step FROM effects WHERE order_id = $1 ORDER BY step", order,
		)
		return rows, err
	})

	// Effects lists the steps of an order that took effect.
	Effects = cruster.NewWorkflow("Effects", func(ctx cruster.Context, order string) ([]string, error) {
		return count.Call(ctx, order)
	}, cruster.HashedKey(func(order string) string { return order }))
)

// step is an activity that leaves a row, exactly once, and tells its key.
func step(name string) *cruster.Activity[Args, string] {
	return cruster.NewActivity(name, func(ctx *cruster.ActivityContext, a Args) (string, error) {
		_, err := ctx.Tx().Exec(
			"INSERT INTO effects (order_id, step, key) VALUES ($1, $2, $3)", a.Order, name, ctx.IdempotencyKey(),
		)
		return ctx.IdempotencyKey(), err
	})
}

// Define registers the workflow of a version.
func Define(v Version) *cruster.Workflow[string, Report] {
	return cruster.NewWorkflow("Order", func(ctx cruster.Context, order string) (Report, error) {
		report := Report{Keys: map[string]string{}, UUID: cruster.UUID(ctx)}
		run := func(name string) error {
			args := Args{Order: order, Step: name}
			if name == "charge" {
				args.Amount = v.Amount
			}
			key, err := steps[name].Call(ctx, args)
			report.Keys[name], report.Steps = key, append(slices.Clip(report.Steps), name)
			return err
		}
		for _, name := range v.Steps {
			if err := run(name); err != nil {
				return report, err
			}
		}
		var err error
		if report.Reminder, err = remind.Client().Execute(ctx, order); err != nil {
			return report, err
		}
		if _, err := gate.Await(ctx); err != nil {
			return report, err
		}
		if v.Bug {
			panic("a bug behind the gate")
		}
		return report, run("ship")
	}, cruster.RawKey(func(order string) string { return order })).Accepts(gate)
}
