// Package effects serves the immediate calls of code that runs once: activities, and operations of entities without a
// state. It has SQL in a transaction, HTTP and configuration.
//
// The transaction begins with the first statement and is not ended here: the caller that runs the
// code commits it together with the outcome of the code, or rolls it back. A transaction that
// collided with others and a store that fails are not the code's fault; they are told apart from
// its own errors.
//
// The package imports host/catalog, host/egress, host/hoststate, host/timer, journal and abi. Start reading at
// effects.go.
package effects
