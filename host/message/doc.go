// Package message has the messages sent to a workflow, and their outcomes.
//
//	signal   a value under a name. The workflow receives it when it asks for it. It is durable
//	         when its sender learns of it (signal.go).
//	update   a request that changes the workflow and is answered. It is durable from when it is
//	         accepted, and its answer from when the caller learns of it (update.go).
//	query    a question, answered from the current state of the workflow. Nothing is written
//	         and nothing is changed, so there is nothing to say about its life: a copy of the
//	         guest answers it (host/execution).
//
// Signals and updates are messages in the inbox of an execution. [Inbox] tracks them for a run:
// which wait for an op, which were delivered and are held, which updates have no answer. An [Inbox]
// decides the effect of a [Turn] on them, its [Fate]. [Status] is the progress of a message, by its
// records in the store, and [Fork] which signals a fork of an execution takes over.
//
// Everything here is a function of values. The package has no goroutine, no clock, no store and no
// lock; their results are handed in. It imports abi and journal. The ops that wait for messages are
// host/op's, and a run of host/execution brings both together. Start reading at signal.go, then
// inbox.go.
package message
