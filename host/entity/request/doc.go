// Package request brings the requests of clients and workflows to entities: calls, messages, locks, and the deletion of
// states.
//
// A [Caller] asks an entity for an operation and waits for its outcome. The call goes to the actor of the entity, in
// memory (caller.go), unless it has to be durable first (persisted.go), or its caller wants to leave memory (leave.go).
// A [Sender] puts a message into the inbox of an entity, and waits for that alone (sender.go, send.go). Locks are
// taken in one order, one after the other (lock.go). [Rows] finds states, locks, messages and receipts.
//
// The package knows the actors as [Actors], and never imports host/entity.
//
// Start reading at call.go.
package request
