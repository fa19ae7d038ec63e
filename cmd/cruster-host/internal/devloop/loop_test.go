package devloop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

const patience = 15 * time.Minute

// A bench is a loop whose events and deployments a test reads.
type bench struct {
	*Loop
	t        *testing.T
	watcher  watcher
	events   chan Event
	deployed chan string
	refuse   bool
}

// newBench is a loop over a source whose module is the file text.txt.
func newBench(t *testing.T, lines string) *bench {
	t.Helper()
	b := &bench{t: t, events: make(chan Event, 100), deployed: make(chan string, 100)}
	b.Loop = &Loop{
		Clock:  clockwork.NewFakeClock(),
		Out:    t.TempDir(),
		Source: script(t, lines),
		Report: func(e Event) { b.events <- e },
		Deploy: func(_ context.Context, _ Source, _ string, binary []byte) error {
			b.deployed <- string(binary)
			if b.refuse {
				return errors.New("refused")
			}
			return nil
		},
	}
	b.watcher.loop = b.Loop
	t.Cleanup(func() { b.watcher.stop() })
	b.edit("one")
	return b
}

func (b *bench) edit(text string) {
	write(b.t, b.Source.Folder, map[string]string{"text.txt": text})
}

// look looks until nothing is new, which is twice.
func (b *bench) look() *job {
	b.watcher.look(b.t.Context())
	b.watcher.look(b.t.Context())
	return b.watcher.job
}

// build looks, and waits for the job.
func (b *bench) build() {
	<-b.look().done
}

func (b *bench) requireEvents(want ...string) Event {
	b.t.Helper()
	var last Event
	for _, w := range want {
		last = receive(b.t, b.events)
		require.Equal(b.t, w, last.What, last.Err)
	}
	require.Empty(b.t, b.events)
	return last
}

func receive[T any](t *testing.T, from chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("not reached")
	}
}

const copyText = `cp text.txt "$1"`

func TestLoopBuildsWhatChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, copyText)
	b.build()
	e := b.requireEvents(Building, Built)
	require.Equal(t, "one", receive(t, b.deployed))
	require.Equal(t, 3, e.Size)
	require.FileExists(t, e.File)

	b.edit("two")
	b.build()
	b.requireEvents(Building, Built)
	require.Equal(t, "two", receive(t, b.deployed))
}

func TestLoopWaitsUntilNothingIsNew(t *testing.T) {
	t.Parallel()
	b := newBench(t, copyText)
	b.build()
	first := b.watcher.job
	b.edit("two")
	b.watcher.look(t.Context())
	require.Same(t, first, b.watcher.job, "the editor may not be done")
	b.edit("and three")
	b.watcher.look(t.Context())
	require.Same(t, first, b.watcher.job)
	b.watcher.look(t.Context())
	require.NotSame(t, first, b.watcher.job)
}

func TestLoopBuildsNothingForTheSameContent(t *testing.T) {
	t.Parallel()
	b := newBench(t, copyText)
	b.build()
	first := b.watcher.job
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(b.Source.Folder, "text.txt"), later, later))
	require.Same(t, first, b.look())
}

func TestLoopDeploysNoModuleTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t, copyText)
	b.build()
	write(t, b.Source.Folder, map[string]string{"notes.txt": "x"})
	b.build()
	b.requireEvents(Building, Built, Building, Unchanged)
	require.Len(t, b.deployed, 1)

	b.refuse = true
	b.edit("two")
	b.build()
	write(t, b.Source.Folder, map[string]string{"notes.txt": "y"})
	b.build()
	require.Len(t, b.deployed, 3, "a module that was refused is tried again")
}

func TestLoopKeepsWhatWasDeployedWhenABuildFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, `grep -q bad text.txt && { echo "text.txt:1: bad"; exit 1; }; `+copyText)
	b.build()
	b.edit("bad")
	b.build()
	e := b.requireEvents(Building, Built, Building, Failed)
	var failed *BuildError
	require.ErrorAs(t, e.Err, &failed)
	require.Equal(t, "text.txt:1: bad\n", failed.Output)
	require.Len(t, b.deployed, 1)
	made, err := os.ReadFile(filepath.Join(b.Out, "m.wasm"))
	require.NoError(t, err)
	require.Equal(t, "one", string(made), "the file of the module before is still there")

	b.edit("one")
	b.build()
	b.requireEvents(Building, Unchanged)
}

// The first build never ends by itself.
func TestLoopEndsABuildThatIsStale(t *testing.T) {
	t.Parallel()
	b := newBench(t, `if grep -q one text.txt; then mkfifo "$1.fifo"; cat "$1.fifo"; fi; `+copyText)
	stale := b.look()
	require.Equal(t, Building, receive(t, b.events).What)
	b.edit("two")
	b.build()
	<-stale.done
	b.requireEvents(Building, Built)
	require.Equal(t, "two", receive(t, b.deployed))
}

func TestLoopOverAFolderThatIsAway(t *testing.T) {
	t.Parallel()
	b := newBench(t, copyText)
	b.build()
	away := b.Source.Folder + ".away"
	require.NoError(t, os.Rename(b.Source.Folder, away))
	t.Cleanup(func() { os.RemoveAll(away) })
	b.watcher.look(t.Context())
	b.watcher.look(t.Context())
	e := b.requireEvents(Building, Built, Failed)
	require.ErrorIs(t, e.Err, os.ErrNotExist)
	require.NoError(t, os.Rename(away, b.Source.Folder))
	b.build()
	b.requireEvents(Building, Unchanged)
}

func TestRunLooksByTheClock(t *testing.T) {
	t.Parallel()
	b := newBench(t, copyText)
	clock := clockwork.NewFakeClock()
	b.Clock = clock
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(ctx)
	}()
	require.Equal(t, "one", receive(t, b.deployed))
	b.edit("two")
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for done := false; !done; {
		select {
		case text := <-b.deployed:
			require.Equal(t, "two", text)
			done = true
		case <-again.C:
			clock.Advance(LookEvery)
		}
	}
	cancel()
	<-ended
}
