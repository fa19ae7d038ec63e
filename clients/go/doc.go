// Package client calls workflows on a Cruster host from Go.
//
// [Dial] makes a [Client]; [Workflow] binds it to one workflow with the types of its request and result:
//
//	c, err := client.Dial("127.0.0.1:7600")
//	...
//	process := client.Workflow[Order, Receipt](c, "orders/ProcessOrder")
//	receipt, err := process.Execute(ctx, Order{ID: "42"})
//
// Starts are idempotent: a request that is sent twice runs once and is answered twice. So the client repeats calls that
// no host answered, or that a full host put off, for as long as [WithRetryFor] allows. A call that must not be made
// twice, such as [Client.Resolve], waits as long for a connection, and is then made once.
//
// A failed call returns an *abi.Error with a stable code and a hint. A failed workflow returns a
// [*RunError], which wraps the *abi.Error that the workflow ended with:
//
//	var failed *client.RunError
//	if errors.As(err, &failed) { ... failed.State, failed.Cause.Type ... }
//
// A deadline ends the waiting, never the workflow: ask again with the same request, or keep the name of the execution
// and [Attach] to it later.
//
// To change the code of running executions, see [Client.Check], [Client.Push], [Client.Move],
// [Client.MoveAll] and [Client.Fork]. A module that does not fit the journal of an execution is a
// [*Misfit], which shows both sides.
//
// docs/clients-go.md is the guide, with programs; its section on connections has TLS and tokens.
//
// The package imports abi and the generated contract, nothing of the host.
package client
