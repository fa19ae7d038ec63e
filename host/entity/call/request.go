package call

import (
	"errors"

	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// Request asks for an operation of an entity.
type Request struct {
	Entity    target.Ref
	Operation string
	// Input is one msgpack value; nil if there is none.
	Input []byte
	// Origin tells the request from all others to the entity: one of the same origin is the same request. Zero says
	// that it is never repeated.
	Origin journal.Origin
	// Again says that the request may have been made before.
	Again bool
	// From is the step of a workflow that makes the request, if one does.
	From journal.Caller
	// Section is the step that began the critical section in which the workflow makes it; zero if it is in none.
	Section journal.StepID
	Patience
}

// ErrLeft says that the workflow need not wait in memory any more: the answer will be in its inbox.
var ErrLeft = errors.New("entity: the answer will be in the inbox of the workflow")

// ErrTaken says that a message that was to be joined has been taken meanwhile: there is a receipt.
var ErrTaken = errors.New("entity: the message has been taken")

// Progress is how far a call has come.
type Progress int

// The stages of a call that keep a caller waiting who would leave before.
const (
	_          Progress = iota
	IsAccepted          // it has run, runs, or will
	IsAtWork            // it has run, or runs
)
