// Package replay decides the meaning of a journal for a guest that is run through it again: which entries form a turn
// ([Reader]), which op each entry answers ([Ops]), and how to show that a guest did something else than before
// (divergederror.go).
//
// It runs no guest and reads no store; pages of entries are handed to it. It imports abi, journal and host/op. Start
// reading at match.go.
package replay
