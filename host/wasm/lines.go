package wasm

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxLine is the longest line handed on; longer ones are cut into pieces.
	maxLine = 8 << 10
	// maxStderrTail is how much of the end of standard error is kept for traps.
	maxStderrTail = 8 << 10
	// maxCrashReport is how much is kept of a crash report from its first line on.
	maxCrashReport = 2 * maxLine
)

// lineWriter cuts a standard stream of a guest into lines.
type lineWriter struct {
	emit func(line []byte)
	// check ends the guest if its time is up. A single call of the guest can hand over terabytes.
	check func()
	buf   []byte
}

// Write implements [io.Writer].
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	w.check()
	for len(p) > 0 {
		room := maxLine - len(w.buf)
		end := bytes.IndexByte(p[:min(len(p), room)], '\n')
		switch {
		case end >= 0:
			w.buf = append(w.buf, p[:end]...)
			p = p[end+1:]
			w.flushLine()
		case len(p) >= room:
			w.buf = append(w.buf, p[:room]...)
			p = p[room:]
			w.flushLine()
		default:
			w.buf = append(w.buf, p...)
			p = nil
		}
	}
	return n, nil
}

// flush hands on a line that has no end yet.
func (w *lineWriter) flush() {
	if len(w.buf) > 0 {
		w.flushLine()
	}
}

func (w *lineWriter) flushLine() {
	w.emit(w.buf)
	w.buf = w.buf[:0]
}

// crashLog keeps what is needed of standard error to explain a crash. The end
// alone is not enough: a Go guest with many goroutines writes its panic first and
// then more stack traces than the tail holds.
type crashLog struct {
	tail   []byte
	report []byte
}

// Prefixes of the line that a crash report starts with, in Go and in Rust.
var crashPrefixes = [][]byte{
	[]byte("panic: "), []byte("fatal error: "), []byte("runtime: "), []byte("thread '"), []byte("memory allocation of "),
}

func (c *crashLog) add(line []byte) {
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

// startsReport tells whether a line is the first of a crash report. Go's
// "runtime: " lines come before the "fatal error: " that they explain and are part
// of its report.
func startsReport(line []byte) bool {
	return slices.ContainsFunc(crashPrefixes, func(prefix []byte) bool { return bytes.HasPrefix(line, prefix) })
}

// stderr returns the tail, fit to be shown.
func (c *crashLog) stderr() string {
	tail := c.tail
	if len(tail) > maxStderrTail {
		tail = tail[len(tail)-maxStderrTail:]
	}
	return printable(string(tail))
}

// printable makes text of a guest safe to show: valid UTF-8 without control
// characters other than tab and newline.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '.'
	}, s)
}

// oneLine is printable text of at most limit bytes on one line.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
