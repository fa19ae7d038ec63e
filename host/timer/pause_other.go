//go:build !linux

package timer

import "time"

// pause waits for a short time.
func pause(d time.Duration) { time.Sleep(d) }
