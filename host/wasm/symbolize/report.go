package symbolize

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Report is the gist of the output of a language's runtime when it dies.
type Report struct {
	// Headline is its first line.
	Headline string
	// OutOfMemory says that memory was the reason.
	OutOfMemory bool
	// InLibrary says that the line of a panic in Rust is not the author's.
	InLibrary bool

	frames []string
	// waits are the awaited events of each task, if all of them wait: the guest SDKs write it.
	waits []string
}

// HasFrames tells whether it names functions of the author's.
func (r *Report) HasFrames() bool { return len(r.frames) > 0 }

// AllWait tells whether it is one of a deadlock.
func (r *Report) AllWait() bool {
	return strings.HasPrefix(r.Headline, goroutinesAsleep) || strings.HasPrefix(r.Headline, tasksAsleep)
}

// Headlines of reports that all wait: from Go's runtime, and from the guest SDKs.
const (
	goroutinesAsleep = "fatal error: all goroutines are asleep"
	tasksAsleep      = "fatal error: all tasks are asleep"
)

// Bounds of the waiting tasks in the message of a trap.
const (
	maxWaits     = 21
	maxWaitBytes = 300
)

// readReport understands the reports of Go and of Rust.
func readReport(report []byte) Report {
	var r Report
	lines := strings.Split(string(report), "\n")
	for n, line := range lines {
		switch {
		case strings.Contains(line, "out of memory"), strings.Contains(line, "cannot allocate memory"),
			strings.HasPrefix(line, "memory allocation of "):
			r.OutOfMemory = true
		case strings.HasPrefix(line, "\t") && n > 0 && len(r.frames) < 3:
			if frame, ok := goFrame(lines[n-1], line); ok {
				r.frames = append(r.frames, frame)
			}
		}
		if r.Headline == "" || strings.HasPrefix(r.Headline, "runtime: ") && strings.HasPrefix(line, "fatal error: ") {
			r.Headline = OneLine(line, 500)
		}
		if r.waits = append(r.waits, r.waitOf(lines, n)...); len(r.waits) > maxWaits {
			r.waits = r.waits[:maxWaits]
		}
		if strings.HasPrefix(line, "thread '") && n+1 < len(lines) {
			r.Headline = OneLine(line+" "+lines[n+1], 500)
			r.InLibrary = slices.ContainsFunc(rustLibraries, func(folder string) bool {
				return strings.Contains(strings.ReplaceAll(line, `\`, "/"), folder)
			})
		}
	}
	return r
}

// rustLibraries are the paths of Rust's own libraries, and of libraries fetched by Cargo, as a
// panic shows them: "thread 'main' panicked at library/std/src/sync/mutex.rs:12:9:".
var rustLibraries = []string{" at library/", " at /rustc/", "/rustlib/src/", "/registry/src/", "/git/checkouts/"}

// waitOf renders the wait in a line of a report, below the headline that all do.
func (r *Report) waitOf(lines []string, n int) []string {
	line := lines[n]
	switch {
	case strings.HasPrefix(r.Headline, tasksAsleep):
		if strings.HasPrefix(line, "fatal error: ") || strings.TrimSpace(line) == "" {
			return nil
		}
		return []string{OneLine(line, maxWaitBytes)}
	case strings.HasPrefix(r.Headline, goroutinesAsleep):
		return goroutineWait(lines, n)
	}
	return nil
}

// goroutineWait reads the stack of a goroutine, "goroutine 7 [chan receive]:" and its frames, as
// "goroutine 7, in main.f, waits for chan receive at orders/main.go:12". A goroutine without a
// frame of the author's is left out.
func goroutineWait(lines []string, n int) []string {
	head, isHead := strings.CutPrefix(lines[n], "goroutine ")
	id, state, ok := strings.Cut(strings.TrimSuffix(head, "]:"), " [")
	if !isHead || !ok {
		return nil
	}
	id, _, _ = strings.Cut(id, " ") // addresses follow, if the runtime itself has failed
	for i := n + 1; i+1 < len(lines) && lines[i] != "" && !strings.HasPrefix(lines[i], "created by "); i += 2 {
		if name, file, ok := authorFrame(lines[i], lines[i+1]); ok {
			return []string{
				OneLine(fmt.Sprintf("goroutine %s, in %s, waits (%s) at %s", id, name, state, file), maxWaitBytes),
			}
		}
	}
	return nil
}

// runtimeFrames are prefixes of frames that say nothing about the user's code.
var runtimeFrames = []string{
	"runtime.", "internal/", "sync.", "time.", "iter.", "cruster_", "panic", "goroutine ", "created by runtime",
	"created by iter.",
}

// sdk is the guest SDK for Go. Its frames say nothing about the user's code either.
const sdk = "github.com/cruster/cruster/guest-sdk/go"

// goFrame reads two lines of a Go stack trace, "main.f(0x1, …)" and "\t/src/main.go:12 +0x3", as "main.f
// src/main.go:12".
func goFrame(function, position string) (string, bool) {
	name, file, ok := authorFrame(function, position)
	return OneLine(name+" "+file, 120), ok
}

// authorFrame is goFrame of the function and the line apart. It is false for frames that say nothing
// about the user's code.
func authorFrame(function, position string) (name, file string, ok bool) {
	name, _, ok = strings.Cut(function, "(")
	if open := strings.LastIndexByte(function, '('); open > 0 {
		name = function[:open]
	}
	file, _, _ = strings.Cut(strings.TrimSpace(position), " ")
	if !ok || !strings.Contains(file, ".go:") || !isAuthors(name) {
		return "", "", false
	}
	return strings.TrimPrefix(name, "created by "), ShortPath(file), true
}

// isAuthors tells whether a function is the user's, by its name.
func isAuthors(name string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "created by "), sdk)
	return !(ok && rest != "" && (rest[0] == '.' || rest[0] == '/')) &&
		!slices.ContainsFunc(runtimeFrames, func(p string) bool { return strings.HasPrefix(name, p) })
}

// ShortPath is a file with the folder it is in.
func ShortPath(file string) string { return path.Join(path.Base(path.Dir(file)), path.Base(file)) }

// Where renders the frames: " (in main.f main.go:12 < main.g main.go:30)".
func (r *Report) Where() string {
	if len(r.frames) == 0 {
		return ""
	}
	return " (in " + strings.Join(r.frames, " < ") + ")"
}

// WhoWaits renders the waiting tasks: ": task 1, begun at …, waits for …; task 2 …".
func (r *Report) WhoWaits() string {
	if len(r.waits) == 0 {
		return r.Where()
	}
	return ": " + strings.Join(r.waits, "; ")
}

// sleepers reads from a report the goroutines that wait for time: the sleeping ones, or else the
// ones a timer may wake. Coroutines that wait for their turn do not.
func sleepers(report []byte) (asleep []string) {
	lines := strings.Split(string(report), "\n")
	var others []string
	for n := range lines {
		for _, wait := range goroutineWait(lines, n) {
			switch {
			case strings.Contains(wait, ", waits (sleep) at "):
				asleep = append(asleep, wait)
			case !strings.Contains(wait, ", waits (coroutine) at "):
				others = append(others, wait)
			}
		}
	}
	if len(asleep) == 0 {
		asleep = others
	}
	return asleep[:min(len(asleep), maxSleepers)]
}

// maxSleepers bounds how many the message names.
const maxSleepers = 3
