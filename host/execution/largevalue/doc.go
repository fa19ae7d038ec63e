// Package largevalue says how much memory the large values of executions need on their way.
//
// An input may have 4 MiB, and thousands of executions may wait with theirs for a slow activity. A
// guest has its input in its own memory from its first turn on, and the store has it for a replay.
// So a run keeps a large input only until the guest has it, and reads it again for a replay. The
// same holds for the values of deferreds and for messages: they are read when they are delivered.
//
// Invariants: a large value is paid for before it is in memory. The input of a start is paid for
// out of the budget Queued, by its caller, who waits for a moment and is refused then. A value read
// from the store for a guest is paid for out of the budget Delivering, which is waited for in order,
// by a run that has the memory of its instance already. A holder of a part of Delivering waits for
// nothing but the store and a slot to compute in: so the wait ends, and neither the memory of
// instances nor Queued is needed for that. A guest may compute for long: the memory of values that it
// has copied is given back before it goes on. A run whose guest crashes gives back the rest before it
// makes the next guest.
//
// The package imports op, journal and abi. Start reading at sizes.go.
package largevalue
