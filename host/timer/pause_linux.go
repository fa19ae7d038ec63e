package timer

import (
	"syscall"
	"time"
)

// pause waits for a short time, to within some ten microseconds. Timers of the Go runtime are late by up to a
// millisecond in a process that has nothing else to do.
func pause(d time.Duration) {
	ts := syscall.NsecToTimespec(d.Nanoseconds())
	_ = syscall.Nanosleep(&ts, nil) // a signal may end it early, and the alarm is set all the same
}
