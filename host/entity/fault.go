package entity

import (
	"fmt"
	"runtime/debug"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// hostFault is a panic of the host while it worked on an entity.
type hostFault struct {
	what  string
	stack []byte
}

// Error implements error.
func (f *hostFault) Error() string { return "the host failed: " + f.what }

// Unwrap yields the error that callers get.
func (f *hostFault) Unwrap() error {
	return abi.Errorf(abi.CodeInternal, "the host failed while it worked on the entity; whether the call took effect is not known")
}

// guarded runs a part of the work on one entity. A panic is a *hostFault: it costs that
// entity its work, and no other.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &hostFault{what: fmt.Sprintf("panic: %.300v", p), stack: debug.Stack()}
		}
	}()
	return work()
}

// report writes what a bug report needs, and no payloads.
func (x *Entities) report(id journal.ID, f *hostFault) {
	x.metrics.faults.Inc()
	x.Logger.Error("host fault: a call of one entity has failed, the others go on; please report this line",
		"code", abi.CodeInternal, "id", id, "fault", f.what, "stack", string(f.stack))
}
