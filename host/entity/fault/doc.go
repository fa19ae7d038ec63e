// Package fault contains the failures of the host itself: a panic in the work on one entity fails that entity's calls
// and no others.
//
// The package imports hostfault, journal and abi.
package fault
