// Package op is the durable request of a guest from the moment it is issued until its outcome is delivered: its
// identity, its arguments, its outcome as far as it is known, and when the host must look at it next.
//
// Everything here is a function of values. The package has no goroutine, no clock and no store; it imports abi and
// journal. The messages that some ops wait for are defined in host/message: a [Set] is handed the waiting ones
// ([Messages]). Start reading at op.go, then due.go.
package op
