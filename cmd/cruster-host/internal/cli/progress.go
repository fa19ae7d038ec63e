package cli

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// progressEvery is how many items pass between two updates of a progress line.
const progressEvery = 10

// A progress line tells people who watch a terminal how far a long command is. In a file or a pipe it would be noise,
// and is left out.
type progress struct {
	w    io.Writer
	verb string
	stop func() // ends the count of seconds; nil if there is none
}

func newProgress(w io.Writer, verb string) *progress {
	return &progress{w: w, verb: verb}
}

// at says how far the command is; a total of 0 is not known.
func (p *progress) at(done, total uint32) {
	p.stopCount()
	if done%progressEvery != 1 || !isTerminal(p.w) {
		return
	}
	if total == 0 {
		fmt.Fprintf(p.w, "\r%s %d\x1b[K", p.verb, done)
		return
	}
	fmt.Fprintf(p.w, "\r%s %s %d of %d\x1b[K", p.verb, bar(int64(done), int64(total)), done, total)
}

// sent says how much of a module is uploaded, and the host's work once it has all of it.
func (p *progress) sent(total int) func(bytes int) {
	return func(bytes int) {
		switch {
		case !isTerminal(p.w):
		case bytes < total:
			fmt.Fprintf(
				p.w, "\rpushing %s %s of %s\x1b[K", bar(int64(bytes), int64(total)), terminal.Bytes(int64(bytes)),
				terminal.Bytes(int64(total)),
			)
		default:
			p.count("pushed " + terminal.Bytes(int64(total)) + "; the host compiles and checks it")
		}
	}
}

// count names the host's work, and every second its duration: the host does not tell its progress.
func (p *progress) count(doing string) {
	if p.stop != nil {
		return
	}
	over, stopped := make(chan struct{}), make(chan struct{})
	p.stop = func() {
		close(over)
		<-stopped
	}
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		fmt.Fprintf(p.w, "\r%s\x1b[K", doing)
		for seconds := 1; ; seconds++ {
			select {
			case <-ticker.C:
				fmt.Fprintf(p.w, "\r%s, for %d s\x1b[K", doing, seconds)
			case <-over:
				return
			}
		}
	}()
}

// stopCount ends the count, if there is one: the line is free.
func (p *progress) stopCount() {
	if p.stop != nil {
		p.stop()
		p.stop = nil
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
	p.stopCount()
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
