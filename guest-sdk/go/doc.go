// Package cruster is the Go SDK for Cruster: write workflows, activities and entities, compile them to one WebAssembly
// module, and a Cruster host runs them durably.
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
// # Three kinds of code
//
// A [Workflow] orchestrates. It may call activities ([Activity.Call]), sleep ([Sleep]), wait for promises ([Deferred])
// and signals ([Signal]), call other workflows ([Client]) and entities ([Operation.On]), several of them as one in a
// critical section ([Lock]). It must not have side effects in any other way, and cannot: inside a module there are no
// files and no network, the clock shows journal time, and random numbers are seeded.
//
// An [Activity] acts. Its [ActivityContext] offers SQL in a transaction that commits together with the activity's
// result, HTTP to granted hosts, configuration, real time, and an idempotency key for everything else.
//
// An entity is called by its id, through a mailbox. An entity with a state ([StatefulEntity]) keeps
// it: its operations run one after the other, and each is a function of the state, without SQL,
// HTTP or anything to wait for. One without ([Entity]) keeps nothing, and its operations have the
// capabilities of activities.
//
// # Long lives
//
// A workflow that runs for long talks with the world outside: it receives signals ([Signal]),
// answers queries ([QueryOf]), takes updates ([Update]), and publishes values ([State]) and
// attributes by which it is found ([Attribute]). A workflow that runs for years begins a new run
// now and then ([ContinueAsNew]), so that its journal stays short. [NewSchedule] starts workflows
// by the clock.
//
// # Mistakes that do not compile
//
// Each kind of code is given a context of its own, and a context offers only the operations
// possible there. So the compiler finds most mistakes that a host would refuse:
//
//   - an activity, or an operation of an entity, that sleeps, waits for a promise or calls
//     another one: [Sleep], [Activity.Call] and [Target.Call] take the [Context] of a
//     workflow. Return first, and let the workflow go on; from an operation, send
//     ([Target.Send]) or start a workflow ([Client.StartFrom]).
//   - SQL or HTTP in a workflow or in an operation with a state: Tx and HTTP are methods of
//     [ActivityContext] and [RPCContext]. Have a workflow call an activity, and then the
//     entity with the result.
//   - an operation that only reads, but sends or destroys: [ReadContext] has neither.
//   - a lock of an entity without a state, an update that is declared to be validated and
//     has nothing that does it, an attribute of a type by which nothing is found.
//   - an operation for the state of another entity, an input of another type, an RPC for an
//     entity with a state: the functions that declare operations are generic in all of
//     them.
//
// Mistakes that the compiler cannot see panic when the module is loaded, before anything runs: a
// name that is used twice, a migration that does not fit. A workflow that waits for a signal which
// it does not accept, takes an update or publishes a value that it does not declare, or continues
// with a request of another type, panics there: the host pauses it, and nothing is lost.
//
// # Coroutines
//
// A workflow may do several things at once. [Activity.Go], [Client.Go], [Timer], [Deferred.Future], [Signal.Future],
// [When], [Go] and [Async] return a [Future]; [All], [First], [Select] and [WithTimeout] wait for several. The
// coroutines of a workflow take turns in an order that every replay repeats; exactly one runs at a time, so they may
// share variables without locks.
//
// Go's own goroutines and channels work between two durable calls, if they are done before the next one. A durable call
// from such a goroutine panics, because a replay could not repeat its order. Let coroutines wait for each other's
// futures, not on channels.
//
// # Errors and interrupts
//
// The error of a failed activity, deferred or call is an [*Error] with the code, type and details that it was given;
// see [Errorf], [NonRetryable], [WithDetails].
//
// A client may ask an execution to stop. Its waits then return [ErrInterrupted], and the workflow cleans up on a
// [Shield]ed context and returns.
//
// # Wire format
//
// Requests and results are msgpack. Field names come from msgpack tags, else from json tags. A field without omitempty
// is required in a request. Embedded structs are flattened.
//
// # Testing
//
// Package crustertest, beside this one, runs workflows in a plain "go test" with virtual time and stubs.
//
// The package imports only abi, msgpack and the standard library. The untyped core is in
// internal/guest. The files ending in _wasip1 connect it to the host; the files ending in _native
// take their place in tests.
package cruster
