package wasm

import (
	"context"
	"io"
	"time"

	"github.com/cruster/cruster/abi"
)

// World is the environment of one instance. Its functions are called on the goroutine that runs the instance, never two
// at a time, and must not call the instance back.
type World struct {
	// Call performs an immediate import (tx_exec, tx_query, http, config) while the instance waits. Nil refuses all of
	// them with CodeWrongContext.
	Call func(ctx context.Context, name string, body []byte) (reply []byte, err *abi.Error)

	// Cancel says that the guest no longer waits for an op. Nil ignores it.
	Cancel func(op uint32)

	// Clock is the wall clock and the monotonic clock of the guest. Nil is a clock that stands still.
	Clock func() time.Time

	// Fuel bounds the work of the guest in one turn, in units of fuel (see package binary). A guest
	// that needs more is stopped: a trap of CodeGuestTimeout. Zero is no limit.
	Fuel int64

	// Log receives the records of cruster.log; the message is the callee's to keep. Nil drops them.
	Log func(level int32, message []byte)

	// Memory is the budget for the instance's memory, beyond its initial size: see [Memory]. Nil is
	// unlimited.
	Memory Memory

	// MemoryAtLeast raises the limit on linear memory to this many bytes, if it is lower.
	MemoryAtLeast int64

	// MemoryLimit bounds the linear memory in bytes; 0 stands for the limit of the runtime.
	MemoryLimit int64

	// Op takes a durable op; the body is the callee's to keep. The number it returns is at least 1. Nil refuses all ops
	// with CodeWrongContext.
	Op func(kind string, body []byte) (op uint32, err *abi.Error)

	// OwnInit says that the module initialises itself in this world, with its clock and its random numbers, as runs
	// whose journals have format 1 did. Otherwise an instance begins with the image of its module, if it can have one.
	OwnInit bool

	// Operation says that the guest begins the operation of that number. It reports whether its
	// limits begin anew. Nil refuses with CodeWrongContext.
	Operation func(index uint32) (anew bool, err *abi.Error)

	// Random feeds random_get, and by that the order of Go's maps and selects. It must not fail. Nil is a fixed
	// sequence.
	Random io.Reader

	// Sleep blocks until d has passed or ctx is done: poll_oneoff calls it for a clock. Nil refuses to block, and the
	// guest traps with CodeBlockingSleep.
	Sleep func(ctx context.Context, d time.Duration) error

	// Stdout and Stderr receive the guest's output to the standard streams, line by line without
	// the line's end and without empty lines; the line is only valid during the call. Nil drops
	// them.
	Stdout, Stderr func(line []byte)
}
