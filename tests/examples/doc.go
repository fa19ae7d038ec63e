// Package examples runs the examples of modules/examples on hosts, in each
// language and on each store, where the test kits of the SDKs cannot show what they
// promise: against services outside.
//
// Start reading at orders_test.go.
package examples
