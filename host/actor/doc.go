// Package actor runs actors: objects in memory, addressed by a key. Each receives its messages one batch at a time, in
// order, on at most one goroutine. Between messages an actor holds no goroutine. Executions and entities are actors.
//
// # Invariants
//
//  1. A message that was posted is received once, unless the task group was
//     closed before.
//  2. At most one goroutine is inside an actor's Receive, Park or Release.
//  3. Messages of one sender are received in the order in which they were posted.
//  4. An actor is forgotten only when its box is empty, it is not held, and it
//     agreed to be ([Actor.Release]). A message that is posted afterwards makes
//     another actor under the same key: whatever the first knew must be durable.
//
// The naive design gives each actor a goroutine and a channel. A hundred thousand of them that wait for next month are
// then a hundred thousand stacks, and a channel cannot tell whether it is safe to forget its reader: a sender may have
// looked it up just now. Here one lock guards all boxes, so that posting, parking and forgetting are decided in one
// order; it is held while boxes are looked up and changed and while an actor lets go of its resources ([Actor.Release],
// [Registry.WhileParked]), never while an actor works.
//
// The package imports nothing of Cruster. Start reading at registry.go.
package actor
