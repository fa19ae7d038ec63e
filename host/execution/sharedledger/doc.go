// Package sharedledger lets a run and the tasks beside it use one ledger.
//
// A ledger of host/execution/ledger has no lock: most of its users are decisions. The ledger of a run
// has one, because transactions of activities reserve their sequence numbers from their own goroutines.
//
// The package imports ledger and journal. Start reading at ledger.go.
package sharedledger
