// Package journal is the durable log of executions: the definition of an entry, the contract of a
// store ([Store]), and the group committer that turns the writes of many executions into few
// transactions ([Committer]).
//
// The journal of an execution is the ordered record of its *deliveries*. Feeding the same
// deliveries to the same module yields the same execution: recovery, eviction and migration rest on
// that alone.
//
// The package knows no Wasm and no engine; it imports abi and nothing else of Cruster. Stores live
// below it (sqlite, postgres, memory), and one suite (storetest) tests them against the same
// contract. Code that uses a store asks for a small interface: its own, or one of the parts of
// Store.
//
// Start reading at store.go, then committer.go with its decisions in batch.go.
package journal
