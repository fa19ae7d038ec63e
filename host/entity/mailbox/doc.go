// Package mailbox has the calls that an entity is to perform, in their order, and knows which messages of its inbox
// are among them.
//
// A call comes from a caller that waits in memory ([Mailbox.Arrive]), or is a message of the inbox, which is read a
// page at a time ([Reader], [Mailbox.TakePage]). Both stand in one order: a sender's messages and calls are performed
// as it has made them (order.go). Two calls of one origin become one. A call leaves the order when its task begins
// ([Mailbox.TakeBatch], [Mailbox.TakePassing], [Mailbox.TakeConcurrent]), and is forgotten with its answer
// ([Mailbox.Answered]) or without one ([Mailbox.Forget]): then its message, if it is one, is read again.
//
// A [Mailbox] belongs to the actor of its entity. It decides, and waits for nothing. A [Reader] reads, in a task.
//
// Start reading at order.go, which has the invariant, and go on with mailbox.go and pages.go.
package mailbox
