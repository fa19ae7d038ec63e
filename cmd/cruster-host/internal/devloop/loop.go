package devloop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jonboulle/clockwork"
)

// LookEvery is the time between two looks at a folder. A change is built at the first look that finds nothing new, so
// that an editor or git has written all of its files.
const LookEvery = 250 * time.Millisecond

// Kinds of an [Event].
const (
	// Building tells that the compiler was started.
	Building = "building"
	// Built tells that the compiler has made a module, which is deployed next.
	Built = "built"
	// Failed tells that the build failed, or that the folder cannot be read.
	Failed = "failed"
	// Unchanged tells that the build has made the module that is deployed already.
	Unchanged = "unchanged"
)

// An Event is an event of a source.
type Event struct {
	What   string
	Source Source
	// Err is why something failed.
	Err error
	// File is the module that was built, Size its size, and Took how long the build took.
	File string
	Size int
	Took time.Duration
}

// A Loop builds the module of one source again and again. All fields are required but Ignored.
type Loop struct {
	Clock clockwork.Clock
	// Deploy is handed each module that was built. The context ends when the source has changed again. An error is
	// Deploy's to tell people about; the module is handed over again after the next build.
	Deploy func(ctx context.Context, s Source, file string, binary []byte) error
	// Ignored lists folders that are not looked at.
	Ignored []string
	// Out is the folder that modules are written to.
	Out string
	// Report receives the events, by one goroutine at a time.
	Report func(Event)
	Source Source

	deployed []byte // the module that Deploy took; only the job that runs uses it
}

// Run looks at the folder until ctx is done.
func (l *Loop) Run(ctx context.Context) {
	ticker := l.Clock.NewTicker(LookEvery)
	defer ticker.Stop()
	w := watcher{loop: l}
	defer func() { w.stop() }()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.Chan():
		}
	}
}

// A watcher is the state of Run between two looks.
type watcher struct {
	loop *Loop

	looked bool   // whether there was a look before
	before tree   // its findings
	read   tree   // the content read last
	broken string // why the folder could not be listed
	job    *job   // the last that was started; nil if there is none
}

// look starts a build if the folder has other content than the one before, and nothing has changed since the last look.
func (w *watcher) look(ctx context.Context) {
	l := w.loop
	files, err := scan(l.Source.Folder, l.ignored())
	if err != nil {
		if w.broken != err.Error() {
			w.stop()
			l.Report(Event{What: Failed, Source: l.Source, Err: err})
		}
		w.broken, w.read, w.job = err.Error(), nil, nil
		return
	}
	quiet := !w.looked || files.equal(w.before)
	w.looked, w.before, w.broken = true, files, ""
	if !quiet || w.job != nil && files.equal(w.read) {
		return
	}
	w.read = files
	now := files.read(l.Source.Folder)
	if w.job != nil && w.job.content == now {
		return
	}
	w.stop()
	w.job = l.start(ctx, now)
}

// stop ends the job under way, and waits until it has.
func (w *watcher) stop() {
	if w.job != nil {
		w.job.cancel()
		<-w.job.done
	}
}

func (l *Loop) ignored() []string { return append([]string{l.Out}, l.Ignored...) }

// A job is the build of one content, and the deployment of its binary.
type job struct {
	content content
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has ended
}

func (l *Loop) start(ctx context.Context, c content) *job {
	ctx, cancel := context.WithCancel(ctx)
	j := &job{content: c, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(j.done)
		defer cancel()
		l.buildAndDeploy(ctx)
	}()
	return j
}

func (l *Loop) buildAndDeploy(ctx context.Context) {
	l.Report(Event{What: Building, Source: l.Source})
	began := l.Clock.Now()
	file, binary, err := l.build(ctx)
	if ctx.Err() != nil {
		return // a newer build reports its outcome
	}
	e := Event{What: Built, Source: l.Source, File: file, Size: len(binary), Took: l.Clock.Since(began)}
	switch {
	case err != nil:
		e.What, e.Err = Failed, err
	case bytes.Equal(binary, l.deployed):
		e.What = Unchanged
	}
	l.Report(e)
	if e.What != Built {
		return
	}
	l.deployed = nil // until its outcome is known
	if l.Deploy(ctx, l.Source, file, binary) == nil {
		l.deployed = binary
	}
}

// build writes the module to a file that is there as a whole or not at all.
func (l *Loop) build(ctx context.Context) (file string, binary []byte, err error) {
	if err := os.MkdirAll(l.Out, 0o700); err != nil {
		return "", nil, err
	}
	file = filepath.Join(l.Out, l.Source.Name+".wasm")
	part := file + ".part"
	if err := Build(ctx, l.Source, part); err != nil {
		_ = os.Remove(part) // the next build would write over it
		return "", nil, err
	}
	if err := os.Rename(part, file); err != nil {
		return "", nil, fmt.Errorf("the build wrote no module: %w", err)
	}
	binary, err = os.ReadFile(file)
	return file, binary, err
}
