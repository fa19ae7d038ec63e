// Package batch runs operations of an entity with a state and decides which of their effects are committed.
//
// A [Worker] performs a [Job] (batch.go): it runs the calls of the job in one invocation (run.go), makes one write
// of all that they came to, commits it, and answers. A call that crashes or does not end is told from the others
// and fails alone (run.go); a message that cannot be performed is parked (park.go); a repeated call gets the
// outcome of the first (receipts.go). Locks are jobs of their own (lock.go). A read runs against a commit and
// commits nothing (read.go).
//
// It knows no actor: its input is a job, its output a [Result], and the store's rows.
//
// The package imports call, commit, fault, instance, metrics, parked, snapshot and target beside it,
// faultpoint, guest and hoststate below it, journal and abi; never host/entity. Start reading at
// batch.go.
package batch
