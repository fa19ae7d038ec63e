package guest

import (
	"unsafe"

	"github.com/cruster/cruster/abi"
)

// Import is the shape of the imports that take a body: (ptr, len) → n.
type Import func(ptr unsafe.Pointer, n uint32) int32

// Call names one function of the host: a durable op or an immediate call.
//
// In the wasip1 build it also holds the import. Each SDK function refers only to the Call that it
// needs, so the linker drops the imports that a module does not use, and the imports of a module
// show its capabilities.
type Call struct {
	Name   string
	Import Import
}

// Host is the other side of the boundary.
type Host interface {
	// Issue asks for a durable op and returns its number, or why it was refused.
	Issue(op *Call, body []byte) (uint32, *abi.Error)
	// Cancel says that the workflow no longer waits for the op.
	Cancel(op uint32)
	// Do performs an immediate call and returns its reply.
	Do(call *Call, body []byte) ([]byte, *abi.Error)
	// Log writes one record; level is a log/slog level.
	Log(level int32, text string)
}

// Locator is a host that shows where a record was logged: the host of a test. pc is 0 if that is
// not known.
type Locator interface {
	LogAt(pc uintptr, level int32, text string)
}

// LogAt writes a record that was logged at a place.
func LogAt(to Logger, pc uintptr, level int32, text string) {
	if l, ok := to.(Locator); ok {
		l.LogAt(pc, level, text)
		return
	}
	to.Log(level, text)
}

// Logger takes log records: see [abi.EncodeLog].
type Logger interface {
	Log(level int32, text string)
}
