//go:build !linux

package wasm

import (
	"io/fs"
	"time"
)

// lastUse is when a file was written.
func lastUse(info fs.FileInfo) time.Time { return info.ModTime() }
