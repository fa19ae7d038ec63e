package instance

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// Result is the result of an invocation of an entity's code.
type Result struct {
	abi.OperationsReply
	Log []guest.LogLine
}

// StatelessCall is an operation of an entity without a state.
type StatelessCall struct {
	Operation string
	Input     []byte
	// IdempotencyKey is the same for all attempts of a call that is persisted.
	IdempotencyKey string
	// Attempt counts from 1.
	Attempt int
}

// StatelessResult is the result of an operation of a stateless entity.
type StatelessResult struct {
	abi.Outcome
	// Tx is the transaction with its statements, to be committed with the outcome; nil if it used no SQL.
	Tx journal.GuestTx
}
