package cli

import (
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// progressEvery is how many items pass between two updates of a progress line.
const progressEvery = 10

// A progress line tells people who watch a terminal how far a long command is. In a
// file or a pipe it would be noise, and is left out.
type progress struct {
	w    io.Writer
	verb string
}

func newProgress(w io.Writer, verb string) *progress {
	return &progress{w: w, verb: verb}
}

// at says how far the command is; a total of 0 is not known.
func (p *progress) at(done, total uint32) {
	if done%progressEvery != 1 || !isTerminal(p.w) {
		return
	}
	if total == 0 {
		fmt.Fprintf(p.w, "\r%s %d\x1b[K", p.verb, done)
		return
	}
	fmt.Fprintf(p.w, "\r%s %s %d of %d\x1b[K", p.verb, bar(int64(done), int64(total)), done, total)
}

// sent says how much of a module is uploaded, and what the host does once it has all of it.
func (p *progress) sent(total int) func(bytes int) {
	return func(bytes int) {
		switch {
		case !isTerminal(p.w):
		case bytes < total:
			fmt.Fprintf(p.w, "\rpushing %s %s of %s\x1b[K", bar(int64(bytes), int64(total)), terminal.Bytes(int64(bytes)), terminal.Bytes(int64(total)))
		default:
			fmt.Fprintf(p.w, "\rpushed %s; the host compiles and checks it\x1b[K", terminal.Bytes(int64(total)))
		}
	}
}

// bar draws how much of something is done.
func bar(done, total int64) string {
	const width = 20
	full := int(min(done, total) * width / total)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// end takes the line away.
func (p *progress) end() {
	if isTerminal(p.w) {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}
