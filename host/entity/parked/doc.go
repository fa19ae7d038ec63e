// Package parked keeps messages that cannot be performed.
//
// # Messages that cannot be performed
//
// The sender of a message was told that it is durable, and does not wait: its failure reaches no caller.
// So a message that comes to no outcome is parked, by the commit that a call in its place would leave
// its error with: see journal/parked.go. An error that the operation returns is an outcome.
//
// A reason that is known to be the message's (its operation crashes, it does not decode, its receiver is
// full, its workflow is refused) parks it at once. A reason that may be the deployment's or the host's (there is
// no such type, the code cannot read the state, the host panics) is tried [MaxAttempts] times first: it
// concerns all messages of the entity, and often passes with the next push. Reasons that pass by the
// table of codes never park. A persisted call that a caller waits for, or waited for, fails where a message would be
// parked: its receipt is for the caller that repeats it.
//
// The package imports call, commit and target beside it, decide, faultpoint, guestlog and hoststate
// below it, journal and abi; never host/entity. Start reading at parked.go.
package parked
