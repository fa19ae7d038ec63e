package wasm

import (
	"runtime"
	"syscall"
	"unsafe"
)

// faultWatch counts the page faults of a thread, to which it binds the goroutine.
type faultWatch struct {
	on     bool
	before int64
}

func watchFaults() faultWatch {
	runtime.LockOSThread()
	return faultWatch{on: true, before: threadFaults()}
}

// end lets the goroutine go, and reports whether there were faults. Without a watch there were none.
func (w *faultWatch) end() bool {
	if !w.on {
		return false
	}
	w.on = false
	after := threadFaults()
	runtime.UnlockOSThread()
	return after != w.before || after < 0
}

// threadFaults counts the page faults of this thread so far; negative if the kernel does not tell.
func threadFaults() int64 {
	const thread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if _, _, errno := syscall.RawSyscall(
		syscall.SYS_GETRUSAGE, thread, uintptr(unsafe.Pointer(&usage)), 0,
	); errno != 0 {
		return -1
	}
	return usage.Minflt + usage.Majflt
}
