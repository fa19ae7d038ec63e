package wasm

import (
	"io/fs"
	"syscall"
	"time"
)

// lastUse is when a file was written or read last. Most systems note that a file was read once a
// day at most, which is near enough; a system that never notes it has the time of writing.
func lastUse(info fs.FileInfo) time.Time {
	written := info.ModTime()
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return written
	}
	if read := time.Unix(stat.Atim.Unix()); read.After(written) {
		return read
	}
	return written
}
