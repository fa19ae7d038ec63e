package wasm

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// crashReport is the gist of what a language's runtime writes when it dies.
type crashReport struct {
	headline    string
	frames      []string
	outOfMemory bool
}

// readReport understands the reports of Go and of Rust.
func readReport(report []byte) crashReport {
	var r crashReport
	lines := strings.Split(string(report), "\n")
	for n, line := range lines {
		switch {
		case strings.Contains(line, "out of memory"), strings.Contains(line, "cannot allocate memory"), strings.HasPrefix(line, "memory allocation of "):
			r.outOfMemory = true
		case strings.HasPrefix(line, "\t") && n > 0 && len(r.frames) < 3:
			if frame, ok := goFrame(lines[n-1], line); ok {
				r.frames = append(r.frames, frame)
			}
		}
		if r.headline == "" || strings.HasPrefix(r.headline, "runtime: ") && strings.HasPrefix(line, "fatal error: ") {
			r.headline = oneLine(line, 500)
		}
		if strings.HasPrefix(line, "thread '") && n+1 < len(lines) {
			r.headline = oneLine(line+" "+lines[n+1], 500)
		}
	}
	return r
}

// runtimeFrames are prefixes of frames that say nothing about the user's code.
var runtimeFrames = []string{"runtime.", "internal/", "sync.", "panic", "goroutine ", "created by runtime"}

// goFrame reads two lines of a Go stack trace, "main.f(0x1, …)" and
// "\t/src/main.go:12 +0x3", as "main.f main.go:12".
func goFrame(function, position string) (string, bool) {
	name, _, ok := strings.Cut(function, "(")
	if open := strings.LastIndexByte(function, '('); open > 0 {
		name = function[:open]
	}
	file, _, _ := strings.Cut(strings.TrimSpace(position), " ")
	if !ok || !strings.Contains(file, ".go:") || slices.ContainsFunc(runtimeFrames, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return "", false
	}
	return oneLine(fmt.Sprintf("%s %s", strings.TrimPrefix(name, "created by "), path.Base(file)), 120), true
}

// where renders the frames: " (in main.f main.go:12 < main.g main.go:30)".
func (r crashReport) where() string {
	if len(r.frames) == 0 {
		return ""
	}
	return " (in " + strings.Join(r.frames, " < ") + ")"
}
