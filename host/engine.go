package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/sharding"
)

// DefaultNamespace is the tenant of requests that name none.
const DefaultNamespace = "default"

// Engine is the durable engine of one host. Make one with [New], start it with
// [Engine.Start], stop it with [Engine.Stop].
type Engine struct {
	cfg       Config
	log       *slog.Logger
	store     journal.Store
	committer *journal.Committer
	wasm      *wasm.Runtime
	modules   *modules
	egress    *egress.Client
	metrics   *metrics
	timers    *timers
	waiters   waiters
	resident  *residents
	ownership *sharding.Ownership

	turns      *semaphore.Weighted // guests that compute
	activities *semaphore.Weighted // attempts that run

	// ctx ends when the engine is to stop doing things at once.
	ctx     context.Context
	abandon context.CancelFunc
	// background counts the goroutines of the engine, work those of runs and
	// their ops.
	background sync.WaitGroup
	work       crew
	started    chan struct{}
	stop       sync.Once

	draining atomic.Bool
	lost     atomic.Pointer[abi.Error] // set once ownership is lost

	mu       sync.Mutex
	runs     map[journal.ID]*run      // guarded by mu
	starting map[journal.ID]*starting // guarded by mu; starts on their way to the journal
}

// New makes an engine. It does nothing before Start.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, abandon := context.WithCancel(context.Background())
	runtime := cfg.Runtime
	if runtime == nil {
		if runtime, err = wasm.New(ctx, cfg.Wasm); err != nil {
			abandon()
			return nil, err
		}
	}
	e := &Engine{
		cfg:        cfg,
		log:        cfg.Logger,
		store:      cfg.Store,
		wasm:       runtime,
		modules:    newModules(runtime, cfg.Store),
		egress:     egress.NewClient(cfg.Egress),
		metrics:    newMetrics(cfg.Registerer),
		waiters:    waiters{byID: map[journal.ID][]*waiter{}},
		turns:      semaphore.NewWeighted(turnSlots()),
		activities: semaphore.NewWeighted(int64(cfg.MaxActivities)),
		ctx:        ctx,
		abandon:    abandon,
		started:    make(chan struct{}),
		runs:       map[journal.ID]*run{},
		starting:   map[journal.ID]*starting{},
	}
	e.resident = newResidents(cfg.MaxResident, e.metrics.resident)
	e.committer = journal.NewCommitter(cfg.Store, journal.CommitterOptions{Observe: e.metrics.observeCommit, Logger: cfg.Logger})
	e.timers = newTimers(e.now, e.timerFired)
	return e, nil
}

// Start claims the shards, which fences every earlier owner, and brings back
// what was running. It returns once the engine accepts work; recovery goes on
// in the background.
func (e *Engine) Start(ctx context.Context) error {
	ownership, err := sharding.Claim(ctx, e.store, e.cfg.Name)
	if err != nil {
		return storeError("claim the shards", err)
	}
	e.ownership = ownership
	close(e.started)
	e.goBackground(e.timers.run)
	e.goBackground(e.recoverAll)
	e.goBackground(e.evictIdle)
	if e.cfg.Retention > 0 {
		e.goBackground(e.sweep)
	}
	return nil
}

// Started is closed once the engine accepts work.
func (e *Engine) Started() <-chan struct{} { return e.started }

func (e *Engine) goBackground(loop func(ctx context.Context)) {
	e.background.Add(1)
	go func() {
		defer e.background.Done()
		loop(e.ctx)
	}()
}

// Stop drains: no new work is accepted, no new activity begins, running ones
// may finish within the drain timeout, and whatever they yield is committed.
// What remains is in the journal. Stop is idempotent.
func (e *Engine) Stop(ctx context.Context) error {
	e.stop.Do(func() {
		e.draining.Store(true)
		ctx, cancel := context.WithTimeout(ctx, e.cfg.DrainTimeout)
		defer cancel()
		select {
		case <-e.work.idle():
		case <-ctx.Done():
			e.log.Warn("stopping with activities under way; they will be repeated", "after", e.cfg.DrainTimeout)
		}
		e.work.dismiss()
		e.abandon()
		<-e.work.idle()
		e.background.Wait()
		e.committer.Stop()
		e.closeGuests()
		e.egress.Close()
		if e.cfg.Runtime == nil {
			_ = e.wasm.Close(context.Background())
		}
	})
	return nil
}

// Kill ends the engine as a crash would: nothing is drained, nothing is
// finished, nobody is answered. It is for tests; Stop must still be called to
// free what the engine holds.
func (e *Engine) Kill() {
	e.draining.Store(true)
	e.work.dismiss()
	e.abandon()
}

func (e *Engine) closeGuests() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs {
		r.dropGuest()
	}
}

// Ready tells whether the engine makes progress: it owns its shards, its store
// commits, and it is not on its way out.
func (e *Engine) Ready(ctx context.Context) error {
	if err := e.accepting(); err != nil {
		return err
	}
	if err := e.store.Ping(ctx); err != nil {
		return storeError("ping", err)
	}
	return nil
}

// accepting tells why new work is refused, if it is.
func (e *Engine) accepting() error {
	select {
	case <-e.started:
	default:
		return abi.Errorf(abi.CodeShuttingDown, "the host is starting")
	}
	if lost := e.lost.Load(); lost != nil {
		return lost
	}
	if e.draining.Load() {
		return abi.Errorf(abi.CodeShuttingDown, "the host is shutting down")
	}
	return nil
}

// now is the wall clock.
func (e *Engine) now() time.Time { return time.Now() }

// Lost tells that another host has taken over: it returns the reason once that
// has happened, nil before.
func (e *Engine) Lost() error {
	if lost := e.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// fenced is called when a write was refused because another host has taken
// over. There is nothing to save: all this host could do is be in the way.
func (e *Engine) fenced() {
	err := abi.Errorf(abi.CodeFenced, "another host has taken over from %s", e.cfg.Name)
	if e.lost.CompareAndSwap(nil, err) {
		e.log.Error("ownership lost; this host writes nothing any more")
		e.abandon()
	}
}

// commit makes one write durable through the group committer.
func (e *Engine) commit(w journal.Write) (journal.Result, error) {
	w.Epoch = e.ownership.Epoch(w.ID.Shard())
	res, err := e.committer.Commit(e.ctx, w)
	if errors.Is(err, journal.ErrFenced) {
		e.fenced()
	}
	if errors.Is(err, context.Canceled) {
		// The engine's end withdrew it, no deadline of whoever asked.
		if reason := e.accepting(); reason != nil {
			err = reason
		}
	}
	return res, err
}

// post puts mail into the box of a run, making the run if it is not in memory.
func (e *Engine) post(id journal.ID, ev event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.postLocked(id, ev)
}

// postLocked is post for who holds e.mu.
func (e *Engine) postLocked(id journal.ID, ev event) {
	r := e.runs[id]
	if r == nil {
		r = newRun(e, id)
		e.runs[id] = r
		e.metrics.executions.Set(float64(len(e.runs)))
		if s := e.starting[id]; s != nil {
			s.found = true
		}
	}
	r.post(ev)
}

// nudge has an execution loaded if it is not in memory. One that is needs no
// telling.
func (e *Engine) nudge(id journal.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[id] == nil {
		e.postLocked(id, wakeMail{})
	}
}

// holds tells whether an execution is in memory.
func (e *Engine) holds(id journal.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id] != nil
}

// inMemory counts the executions in memory.
func (e *Engine) inMemory() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.runs)
}

func namespaceOf(namespace string) string {
	if namespace == "" {
		return DefaultNamespace
	}
	return namespace
}

// storeError gives a failure of the store its code, unless it has one.
func storeError(doing string, err error) error {
	var coded *abi.Error
	if errors.As(err, &coded) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return abi.Errorf(abi.CodeDeadline, "%s: %v", doing, err)
	}
	if errors.Is(err, journal.ErrFenced) {
		return abi.Errorf(abi.CodeFenced, "%s: %v", doing, err)
	}
	return abi.Errorf(abi.CodeStore, "%s: %v", doing, err)
}
