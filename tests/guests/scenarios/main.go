// Command scenarios has the entities of tests/scenarios: small things that people build with
// entities which keep nothing themselves and have their rows in SQL.
package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Health is common to all these entities.
var Health = cruster.NewRPCGroup("Health")

// Check tells which entity answers.
var Check = cruster.NewGroupRPC(Health, "check", func(ctx *cruster.RPCContext, _ cruster.None) (string, error) {
	return ctx.ID() + " is well", nil
})

// Counters count in SQL.
var Counters = cruster.NewEntity("Counter").Include(Health)

// Increment adds to the counter, and returns its value then.
var Increment = cruster.NewRPC(Counters, "increment", func(ctx *cruster.RPCContext, n int64) (int64, error) {
	if n == 0 {
		return 0, cruster.Errorf("nothing", "0 is no increment")
	}
	return cruster.QueryRow[int64](
		ctx.Tx(),
		`INSERT INTO counters (id, n) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = counters.n + $2 RETURNING n`,
		ctx.ID(), n,
	)
}, cruster.Persisted())

// Current is the value of the counter.
var Current = cruster.NewRPC(Counters, "get", func(ctx *cruster.RPCContext, _ cruster.None) (int64, error) {
	return cruster.QueryRow[int64](ctx.Tx(), `SELECT coalesce(sum(n), 0) FROM counters WHERE id = $1`, ctx.ID())
})

// Stores are key-value stores.
var Stores = cruster.NewEntity("KV", cruster.Concurrency(4)).Include(Health)

// Pair is a key with its value.
type Pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Found is the value under a key, if any.
type Found struct {
	Found bool   `json:"found"`
	Value string `json:"value"`
}

// Set writes a pair.
var Set = cruster.NewRPC(Stores, "set", func(ctx *cruster.RPCContext, p Pair) (bool, error) {
	_, err := ctx.Tx().Exec(
		`INSERT INTO pairs (store, name, value) VALUES ($1, $2, $3) ON CONFLICT (store, name) DO UPDATE SET value = $3`,
		ctx.ID(), p.Key, p.Value,
	)
	return err == nil, err
}, cruster.Persisted())

// Get reads the value under a key.
var Get = cruster.NewRPC(Stores, "get", func(ctx *cruster.RPCContext, key string) (Found, error) {
	value, err := cruster.QueryRow[string](
		ctx.Tx(), `SELECT value FROM pairs WHERE store = $1 AND name = $2`, ctx.ID(), key,
	)
	if errors.Is(err, cruster.ErrNoRows) {
		return Found{}, nil
	}
	return Found{Found: err == nil, Value: value}, err
})

// Delete deletes a pair, and tells whether there was one.
var Delete = cruster.NewRPC(Stores, "delete", func(ctx *cruster.RPCContext, key string) (bool, error) {
	n, err := ctx.Tx().Exec(`DELETE FROM pairs WHERE store = $1 AND name = $2`, ctx.ID(), key)
	return n == 1, err
}, cruster.Persisted())

// Keys lists the keys in order.
var Keys = cruster.NewRPC(Stores, "keys", func(ctx *cruster.RPCContext, _ cruster.None) ([]string, error) {
	return cruster.Query[string](ctx.Tx(), `SELECT name FROM pairs WHERE store = $1 ORDER BY name`, ctx.ID())
})

// Clocks have timers.
var Clocks = cruster.NewEntity("Clock").Include(Health)

// Timer is the request of Schedule.
type Timer struct {
	Clock string `json:"clock"`
	Name  string `json:"name"`
	MS    int64  `json:"ms"`
}

// Schedule sets a timer, waits, and has it fire unless it was cancelled. It tells whether it
// fired.
var Schedule = cruster.NewWorkflow("Schedule", func(ctx cruster.Context, t Timer) (bool, error) {
	if _, err := Arm.On(t.Clock).Call(ctx, t.Name); err != nil {
		return false, err
	}
	if err := cruster.Sleep(ctx, time.Duration(t.MS)*time.Millisecond); err != nil {
		return false, err
	}
	return Fire.On(t.Clock).Call(ctx, t.Name)
}, cruster.RawKey(func(t Timer) string { return t.Clock + "-" + t.Name }))

// Arm notes a timer that is pending.
var Arm = cruster.NewRPC(Clocks, "arm", func(ctx *cruster.RPCContext, name string) (bool, error) {
	_, err := ctx.Tx().Exec(`INSERT INTO timers (clock, name, state) VALUES ($1, $2, 'pending')`, ctx.ID(), name)
	return err == nil, err
}, cruster.Persisted())

// Fire has a timer fire that is pending still.
var Fire = cruster.NewRPC(Clocks, "fire", func(ctx *cruster.RPCContext, name string) (bool, error) {
	n, err := ctx.Tx().Exec(
		`UPDATE timers SET state = 'fired' WHERE clock = $1 AND name = $2 AND state = 'pending'`, ctx.ID(), name,
	)
	return n == 1, err
}, cruster.Persisted())

// Cancel cancels a timer that is pending still.
var Cancel = cruster.NewRPC(Clocks, "cancel", func(ctx *cruster.RPCContext, name string) (bool, error) {
	n, err := ctx.Tx().Exec(
		`UPDATE timers SET state = 'cancelled' WHERE clock = $1 AND name = $2 AND state = 'pending'`, ctx.ID(), name,
	)
	return n == 1, err
}, cruster.Persisted())

// Timers lists the names of timers in a state, in order.
var Timers = cruster.NewRPC(Clocks, "timers", func(ctx *cruster.RPCContext, state string) ([]string, error) {
	return cruster.Query[string](
		ctx.Tx(), `SELECT name FROM timers WHERE clock = $1 AND state = $2 ORDER BY name`, ctx.ID(), state,
	)
})

var _ = cruster.Migrations(
	cruster.Migration{
		Version: 1, Name: "counters", SQL: `CREATE TABLE counters (id TEXT PRIMARY KEY, n BIGINT NOT NULL)`,
	},
	cruster.Migration{
		Version: 2,
		Name:    "pairs",
		SQL:     `CREATE TABLE pairs (store TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (store, name))`,
	},
	cruster.Migration{
		Version: 3,
		Name:    "timers",
		SQL:     `CREATE TABLE timers (clock TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (clock, name))`,
	},
)

func main() {}
