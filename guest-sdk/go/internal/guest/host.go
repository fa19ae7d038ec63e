package guest

import (
	"unsafe"

	"github.com/cruster/cruster/abi"
)

// Import is the shape of the imports that take a body: (ptr, len) → n.
type Import func(ptr unsafe.Pointer, n uint32) int32

// Call names one function of the host: a durable op or an immediate call.
//
// The wasip1 build also binds the import to it. Each SDK function refers to the
// one Call it needs, so the linker drops the imports of all functions that a
// module does not use, and the imports of a module show what it can do.
type Call struct {
	Name   string
	Import Import
}

// Host is the other side of the boundary.
type Host interface {
	// Issue asks for a durable op and returns its number, or why it was refused.
	Issue(op *Call, body []byte) (uint32, *abi.Error)
	// Cancel says that nobody waits for the op any more.
	Cancel(op uint32)
	// Do performs an immediate call and returns its reply.
	Do(call *Call, body []byte) ([]byte, *abi.Error)
	// Log writes one record; level is that of log/slog.
	Log(level int32, text string)
}
