// Package follow keeps those who look at an execution while it goes on: it stirs them
// when something about the execution was written, and hands them what its workflow and
// its activities log.
//
// It stores nothing: a follower gets the lines that are logged while it follows, and
// reads the journal itself. An execution without followers costs its host one look at a
// number. What a follower has not taken is bounded, and lines beyond that are counted and
// dropped: a slow reader slows no execution down.
//
// The package imports journal and nothing else of Cruster.
package follow
