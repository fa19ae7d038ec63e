// Package budget holds the memory of a host to one number. Whatever takes memory in proportion to the work of guests
// (instances, replays, uploads) asks for a permit of so many bytes before it takes them, and gives it back when it
// rests or ends. So a storm of timers, a recovery of thousands of executions or a hostile guest waits for its turn, and
// the host does not run out of memory.
//
// # Invariants
//
//  1. The permits given out never come to more than the budget.
//  2. Requests are served in order: a large request is not overtaken by small ones
//     for ever.
//  3. No holder of memory waits for more. A permit that is to become larger
//     ([Permit.Grow]) does not wait: it grows at once, or it is told that there is no
//     room.
//
// Idle instances can be thrown away: an instance is a cache of its journal. The budget does not know instances; it
// calls a function that frees some memory, if there is any to free, before it lets a request wait.
//
// The package imports abi for the error of a request that no waiting would help. Start reading at budget.go.
package budget
