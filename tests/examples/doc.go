// Package examples runs the examples of modules/examples on hosts, in each language and on each store, where the test
// kits of the SDKs cannot show their promises: against services outside, over entities, signals and queries
// together.
//
// Start reading at orders_test.go; cart_test.go has entities, signals and a query.
package examples
