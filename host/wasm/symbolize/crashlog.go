package symbolize

import (
	"bytes"
	"slices"
	"strings"
)

const (
	// maxStderrTail is how much of the end of standard error is kept.
	maxStderrTail = 8 << 10
	// maxCrashReport is how much is kept of a crash report from its first line on.
	maxCrashReport = 16 << 10
)

// CrashLog keeps the parts of standard error that explain a crash. The end alone is not enough: a
// Go guest with many goroutines writes its panic first and then more stack traces than the tail
// holds.
type CrashLog struct {
	tail   []byte
	report []byte
}

// Prefixes of the line that a crash report starts with, in Go and in Rust.
var crashPrefixes = [][]byte{
	[]byte("panic: "), []byte("fatal error: "), []byte("runtime: "), []byte("thread '"),
	[]byte("memory allocation of "),
}

// Add takes a line of standard error.
func (c *CrashLog) Add(line []byte) {
	c.tail = append(append(c.tail, line...), '\n')
	if len(c.tail) > 2*maxStderrTail {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-maxStderrTail:]...)
	}
	if startsReport(line) && !bytes.HasPrefix(c.report, []byte("runtime: ")) {
		c.report = c.report[:0]
	} else if len(c.report) == 0 {
		return
	}
	if len(c.report)+len(line) < maxCrashReport {
		c.report = append(append(c.report, line...), '\n')
	}
}

// startsReport tells whether a line is the first of a crash report. Go's "runtime: " lines come before the "fatal
// error: " that they explain and are part of its report.
func startsReport(line []byte) bool {
	return slices.ContainsFunc(crashPrefixes, func(prefix []byte) bool { return bytes.HasPrefix(line, prefix) })
}

// Stderr returns the tail, fit to be shown.
func (c *CrashLog) Stderr() string {
	tail := c.tail
	if len(tail) > maxStderrTail {
		tail = tail[len(tail)-maxStderrTail:]
	}
	return Printable(string(tail))
}

// LastLine quotes the last line, as the end of a sentence; empty if there is none.
func (c *CrashLog) LastLine() string {
	lines := strings.Split(strings.TrimRight(string(c.tail), "\n"), "\n")
	if last := OneLine(lines[len(lines)-1], 200); last != "" {
		return ": " + last
	}
	return ""
}

// Forget forgets the report. Reports of earlier turns say nothing about a crash.
func (c *CrashLog) Forget() { c.report = c.report[:0] }

// HasReport tells whether a report has begun.
func (c *CrashLog) HasReport() bool { return len(c.report) > 0 }

// Report reads the report; it is empty if there is none.
func (c *CrashLog) Report() Report { return readReport(c.report) }

// Sleepers reads from the report which goroutines wait for time.
func (c *CrashLog) Sleepers() []string { return sleepers(c.report) }
