// Package entities compares entities with a single machine that never fails: clients call them over gRPC
// while the real binary is killed with -9 again and again, and a checker of linearizability finds one order that
// explains every answer, or there is a bug.
//
// An operation is repeated with its request id until it is answered, or given up, and then its outcome is not known: it
// may have taken effect, may do so later, or never will. A message is an operation without a result that ends when
// it is acknowledged. In the end every request is repeated once more: each has counted once.
//
// Start reading at entities_test.go; model_test.go models a counter, clients_test.go has the clients.
package entities
