// Package commit makes the effects of operations durable, and finds out whether a commit whose answer was lost took
// effect (lost_answer.go): by its witness, which no other write has (witness.go).
//
// The package imports metrics beside it, decide, faultpoint, hoststate and metric below it, and
// journal; never host/entity. Start reading at writer.go.
package commit
