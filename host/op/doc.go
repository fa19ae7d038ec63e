// Package op is the durable request of a guest from the moment it is issued until
// its outcome is delivered: its identity, its arguments, what is known of its
// outcome, and when the host must look at it next.
//
// Everything here is a function of values. The package has no goroutine, no clock
// and no store; it imports abi and journal. What the messages are that some ops wait
// for is said in host/message: a [Set] is handed those that wait ([Messages]). Start
// reading at op.go, then due.go.
package op
