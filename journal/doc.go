// Package journal is the durable log of executions: what an entry is, what a
// store must promise ([Store]), and the group committer that turns the writes
// of many executions into few transactions ([Committer]).
//
// The journal of an execution is the ordered record of what was *delivered* to
// it. Feeding the same deliveries to the same module yields the same
// execution: that is all that recovery, eviction and migration rest on.
//
// The package knows no Wasm and no engine; it imports abi and nothing else of
// Cruster. Stores live below it (sqlite, postgres, memory), and one suite
// (storetest) holds them to the same contract. Start reading at store.go.
package journal
