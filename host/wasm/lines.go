package wasm

import "bytes"

// maxLine is the longest line handed on; longer ones are cut into pieces.
const maxLine = 8 << 10

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
