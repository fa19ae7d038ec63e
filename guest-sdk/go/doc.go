// Package cruster is the Go SDK for Cruster: write workflows and activities,
// compile them to one WebAssembly module, and a Cruster host runs them durably.
//
// A module is an ordinary package main:
//
//	package main
//
//	import (
//		"time"
//
//		cruster "github.com/cruster/cruster/guest-sdk/go"
//	)
//
//	type Order struct {
//		ID    string `json:"id"`
//		Cents int64  `json:"cents"`
//	}
//
//	// An activity has side effects. It is retried, and its result is journaled.
//	var Charge = cruster.NewActivity("charge", charge,
//		cruster.Retries(5), cruster.ExponentialBackoff(time.Second), cruster.Timeout(30*time.Second))
//
//	func charge(ctx *cruster.ActivityContext, o Order) (string, error) {
//		id := ctx.IdempotencyKey()
//		_, err := ctx.Tx().Exec(`INSERT INTO charges (id, order_id, cents) VALUES ($1, $2, $3)`, id, o.ID, o.Cents)
//		return id, err
//	}
//
//	// A workflow decides what happens. It survives crashes of the host: the host
//	// replays it from the journal, and it goes on where it was.
//	var ProcessOrder = cruster.NewWorkflow("ProcessOrder", processOrder,
//		cruster.RawKey(func(o Order) string { return o.ID }))
//
//	func processOrder(ctx cruster.Context, o Order) (string, error) {
//		chargeID, err := Charge.Call(ctx, o)
//		if err != nil {
//			return "", err
//		}
//		return chargeID, cruster.Sleep(ctx, 14*24*time.Hour)
//	}
//
//	var _ = cruster.Migrations(cruster.Migration{Version: 1, Name: "charges",
//		SQL: `CREATE TABLE charges (id TEXT PRIMARY KEY, order_id TEXT, cents BIGINT)`})
//
//	func main() {}
//
// Build it as a WASI reactor:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o orders.wasm .
//
// # Two kinds of code
//
// A [Workflow] orchestrates. It may call activities ([Activity.Call]), sleep
// ([Sleep]), wait for promises ([Deferred]) and signals ([Signal]) and call other
// workflows ([Client]).
// It must not have side effects in any other way, and cannot: inside a module
// there are no files and no network, the clock shows journal time, and random
// numbers are seeded.
//
// An [Activity] acts. Its [ActivityContext] offers SQL in a transaction that
// commits together with the activity's result, HTTP to granted hosts,
// configuration, real time, and an idempotency key for everything else.
//
// # Coroutines
//
// A workflow may do several things at once. [Activity.Go], [Client.Go], [Timer],
// [Deferred.Future], [Signal.Future], [Go] and [Async] return a [Future]; [All], [First], [Select]
// and [WithTimeout] wait for several. The coroutines of a workflow take turns in
// an order that every replay repeats; exactly one runs at a time, so they may
// share variables without locks.
//
// Go's own goroutines and channels work between two durable calls, if they are
// done before the next one. A durable call from such a goroutine panics, because
// a replay could not repeat its order. Let coroutines wait for each other's
// futures, not on channels.
//
// # Errors and interrupts
//
// The error of a failed activity, deferred or call is an [*Error] with the code,
// type and details that it was given; see [Errorf], [NonRetryable], [WithDetails].
//
// A client may ask an execution to stop. Its waits then return
// [ErrInterrupted], and the workflow cleans up on a [Shield]ed context and
// returns.
//
// # Wire format
//
// Requests and results are msgpack. Field names come from msgpack tags, else
// from json tags. A field without omitempty is required in a request. Embedded
// structs are flattened.
//
// # Testing
//
// Package crustertest, beside this one, runs workflows in a plain "go test"
// with virtual time and stubs.
//
// The package imports only abi, msgpack and the standard library. The untyped
// core is in internal/guest. The files ending in _wasip1 connect it to the host;
// those ending in _native take their place in tests.
package cruster
