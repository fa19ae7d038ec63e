// Package memory is the oracle of the store contract: a journal.Store in plain maps under one lock, written to be
// obviously right rather than fast. Other stores are compared with it step by step (see storetest). It keeps nothing
// when the process ends and runs no SQL of guests.
//
// It imports abi and journal; package storetest tests it. Start reading at memory.go.
package memory
