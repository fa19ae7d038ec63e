package main

import (
	"os"
	"path/filepath"
	"strings"
)

// filesystemOf is the kind of the file system that holds a folder, by the longest mount point above it.
func filesystemOf(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	raw, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return ""
	}
	best, kind := "", ""
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		point := strings.TrimSuffix(fields[1], "/") + "/"
		if strings.HasPrefix(dir+"/", point) && len(point) >= len(best) {
			best, kind = point, fields[2]
		}
	}
	return kind
}
