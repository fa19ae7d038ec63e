// Package follow notifies subscribers of a running execution: when a row or an entry of it was
// written, and of each line that its workflow and its activities log.
//
// It stores nothing: a follower gets the lines that are logged while it follows, and reads the journal itself. An
// execution without followers costs its host one look at a number. The undelivered lines of a follower are bounded, and
// lines beyond that are counted and dropped: a slow reader slows no execution down.
//
// The package imports journal and nothing else of Cruster.
package follow
