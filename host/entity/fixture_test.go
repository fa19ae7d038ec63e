package entity

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/snapshot"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

// fixture is a host whose entities are counters, which obey their operations. Store, actors and time are real; in a
// synctest bubble time is virtual.
type fixture struct {
	t     *testing.T
	store *watchedStore

	x       *Entities
	life    *hoststate.State
	commits *scriptedCommitter
	queued  *budget.Budget
	stop    context.CancelFunc
	// unrecovered is a host that has not looked for messages from before.
	unrecovered bool

	mu          sync.Mutex
	types       map[string]*abi.EntityInfo // guarded by mu
	invocations []string                   // guarded by mu; the operations that the guests were asked to run
	held        chan struct{}              // guarded by mu; invocations wait for it to be closed, if it is not nil
	heldOnly    string                     // guarded by mu; only such invocations are held, if it is not empty
	began       chan string                // each invocation, for tests that listen
	started     []string                   // guarded by mu; workflows
	startError  error                      // guarded by mu; of starts
	unstartable map[string]error           // guarded by mu; of starts, by their keys
	panicAt     string                     // guarded by mu; the fault point at which the host panics once
	passed      []string                   // guarded by mu; fault points
	dieAt       string                     // guarded by mu; the fault point at which the host ends
	died        chan struct{}              // guarded by mu; closed when it did
	collided    []int                      // guarded by mu; how often each stateless call had collided before
	logged      []string                   // guarded by mu; warnings
	repaired    bool                       // guarded by mu; the operations that crash add one instead
	reports     bool                       // guests tell which operation they run
	partly      bool                       // and only the first of them has a whole limit
	lies        bool                       // guests report the last operation, and take too long with several
	stateless   func(instance.StatelessCall) (*instance.StatelessResult, error)
	// code runs operations in place of the counters, if it is not nil. Set before there is an entity.
	code func(t target.Target, body *abi.Operations) (*instance.Result, error)
}

func counterType() *abi.EntityInfo {
	e := &abi.EntityInfo{Name: "Counter", State: &abi.Schema{Type: abi.TypeInt}, Concurrency: 2}
	for _, name := range []string{"add", "crash", "destroy", "fail", "get", "large", "sends", "spin"} {
		e.Operations = append(e.Operations, abi.OperationInfo{Name: name, ReadOnly: name == "get"})
	}
	return e
}

// stores are the stores that a host can run on.
var stores = [2]string{"sqlite", "postgres"}

// eachStore runs a test on both stores. One with many cases takes stores[n%2] for the nth, so that
// each value of each of its dimensions meets both.
func eachStore(t *testing.T, test func(t *testing.T, kind string)) {
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "postgres" {
				pgtest.DSN(t) // starts the server: in a bubble, its start would wait for virtual time
			}
			test(t, kind)
		})
	}
}

// openStore opens an empty store. In a bubble it has to be opened there.
func openStore(t *testing.T, kind string) journal.Store {
	t.Helper()
	ctx, logger := context.Background(), slog.New(slog.DiscardHandler)
	var store journal.Store
	var err error
	switch kind {
	case "memory":
		store = memory.New()
	case "sqlite":
		store, err = sqlite.Open(ctx, sqlite.Config{Dir: t.TempDir(), Logger: logger})
	default:
		store, err = postgres.Open(ctx, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Emptied(t), Logger: logger})
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func newFixture(t *testing.T, kind string) *fixture {
	t.Helper()
	return newFixtureOver(t, openStore(t, kind))
}

func newFixtureOver(t *testing.T, store journal.Store) *fixture {
	t.Helper()
	f := &fixture{
		t:     t,
		store: &watchedStore{Store: store},
		types: map[string]*abi.EntityInfo{"Counter": counterType()},
		began: make(chan string, 10_000),
	}
	f.boot()
	t.Cleanup(f.end)
	return f
}

// boot starts a host over the store, fencing the one before.
func (f *fixture) boot() {
	fences, err := f.store.ClaimShards(context.Background(), "test")
	require.NoError(f.t, err)
	f.life = hoststate.New()
	f.commits = &scriptedCommitter{
		store: f.store, fences: fences, group: journal.NewCommitter(f.store, journal.CommitterOptions{}),
	}
	f.queued = budget.New(64 << 20)
	f.x = New(Deps{
		Callers:      f,
		Catalog:      f,
		Clock:        clockwork.NewRealClock(),
		Committer:    f.commits,
		Fault:        f.pass,
		Guests:       f,
		Host:         f.life,
		IdleTime:     time.Minute,
		Logger:       slog.New(warnings{slog.DiscardHandler, f}),
		MaxCalls:     16,
		Queued:       f.queued,
		Starts:       f,
		Store:        f.store,
		Transactions: f.commits,
	})
	f.life.MarkStarted()
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	go f.x.Run(f.life.Context()) // as the engine does: timers of a host that has ended wake no one
	if !f.unrecovered {
		f.x.Recover(ctx)
	}
}

// warnings keeps the warnings of the host.
type warnings struct {
	slog.Handler
	f *fixture
}

func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level == slog.LevelWarn }
func (w warnings) WithAttrs([]slog.Attr) slog.Handler             { return w }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.f.logged = append(w.f.logged, r.Message)
	return nil
}

// end stops the host as a crash would, and waits for its goroutines.
func (f *fixture) end() {
	f.life.Drain()
	f.x.Close()
	f.life.End()
	f.commits.release()
	f.release()
	f.stop()
	<-f.x.Idle()
	f.commits.group.Stop()
}

// crash ends the host and starts another.
func (f *fixture) crash() {
	f.end()
	f.boot()
}

func (f *fixture) pass(point string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passed = append(f.passed, point)
	if f.panicAt == point {
		f.panicAt = ""
		panic("injected at " + point)
	}
	if f.dieAt == point {
		f.dieAt = ""
		f.life.End()
		close(f.died)
		f.mu.Unlock()
		defer f.mu.Lock()
		runtime.Goexit()
	}
}

// crashAt has the host end at a fault point: nothing that comes behind it is done.
func (f *fixture) crashAt(point string, died chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dieAt, f.died = point, died
}

// readFrom has the host read inboxes from another store.
func (f *fixture) readFrom(store Store) { f.x.workers.inboxes.Store, f.x.recovery.store = store, store }

// settle waits until nothing is at work.
func (f *fixture) settle() {
	f.t.Helper()
	parked := func() bool {
		still := true
		for _, key := range []string{"a", "b"} {
			if f.x.actors.Has(refTo(key).ID()) {
				seen := false
				f.x.actors.WhileParked(refTo(key).ID(), func(*entity) (message, bool) {
					seen = true
					return nil, false
				})
				still = still && seen
			}
		}
		return still
	}
	require.Eventually(f.t, parked, testTimeout, testTick)
}

// hold has invocations wait for release.
func (f *fixture) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = make(chan struct{})
	for len(f.began) > 0 {
		<-f.began
	}
}

func (f *fixture) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != nil {
		close(f.held)
		f.held = nil
	}
}

// Entity implements Catalog.
func (f *fixture) Entity(_ context.Context, _, entityType string) (*catalog.Entity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, name, _ := strings.Cut(entityType, "/")
	info := f.types[name]
	if info == nil {
		return nil, abi.Errorf(abi.CodeUnknownEntity, "there is no type %q", entityType)
	}
	return &catalog.Entity{EntityInfo: info}, nil
}

// Answered implements Callers.
func (*fixture) Answered([]journal.Sent) {}

// Check implements Starts.
func (f *fixture) Check(_ context.Context, _, _ string, call *abi.Call) error {
	if call.Workflow == "Unknown" {
		return abi.Errorf(abi.CodeUnknownWorkflow, "there is no workflow %q", call.Workflow)
	}
	return nil
}

// Start implements Starts.
func (f *fixture) Start(_ context.Context, namespace, deployment string, call *abi.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmp.Or(f.startError, f.unstartable[call.Key]); err != nil {
		return err
	}
	f.started = append(f.started, namespace+" "+deployment+"/"+call.Workflow+"/"+call.Key)
	return nil
}

// Call implements Guests.
func (f *fixture) Call(
	ctx context.Context, _ target.Target, call instance.StatelessCall,
) (*instance.StatelessResult, error) {
	f.begins(call.Operation)
	f.mu.Lock()
	f.collided = append(f.collided, journal.Conflicts(ctx))
	run := f.stateless
	f.mu.Unlock()
	return run(call)
}

// begins tells of an invocation, unless no one has listened for a long time.
func (f *fixture) begins(what string) {
	select {
	case f.began <- what:
	default:
	}
}

// Operations implements Guests: a counter.
func (f *fixture) Operations(ctx context.Context, t target.Target, body *abi.Operations) (*instance.Result, error) {
	if f.code != nil {
		return f.code(t, body)
	}
	var names []string
	for _, o := range body.Operations {
		names = append(names, o.Operation)
	}
	f.mu.Lock()
	f.invocations = append(f.invocations, strings.Join(names, " "))
	held := f.held
	if f.heldOnly != "" && f.heldOnly != strings.Join(names, " ") {
		held = nil
	}
	f.mu.Unlock()
	f.begins(strings.Join(names, " "))
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	g := &counter{version: t.Type.StateVersion, repaired: f.isRepaired()}
	if body.State != nil {
		if err := abi.Unmarshal(body.State, &g.value); err != nil {
			return nil, &instance.Refusal{Reason: abi.Errorf(abi.CodeBadBody, "the state does not decode")}
		}
		g.there = true
	}
	begun := 0
	under := instance.UnderWay{Count: len(body.Operations), Renew: func() bool { return begun == 0 || !f.partly }}
	if last := len(body.Operations) - 1; f.lies && last > 0 {
		_, _ = under.Begin(uint32(last))
		return nil, under.EndedBy(abi.Errorf(abi.CodeGuestTimeout, "it took too long"))
	}
	for i, o := range body.Operations {
		if f.reports {
			if _, err := under.Begin(uint32(i)); err != nil {
				return nil, err
			}
			begun++
		}
		if err := g.operate(o); err != nil {
			return nil, under.EndedBy(err)
		}
	}
	return g.ran(), nil
}

// repair has operations that crash add one instead, as after a push of fixed code.
func (f *fixture) repair() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.repaired = true
}

func (f *fixture) isRepaired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.repaired
}

// counter is the guest.
type counter struct {
	value   int64
	there   bool
	large   bool
	version uint32
	replies []abi.OperationReply
	// repaired says that the operations that crash add one instead.
	repaired bool
}

// sendsInput is the input of the operation "sends".
type sendsInput struct {
	Sent    []abi.EntityMessage `msgpack:"sent"`
	Started []abi.Call          `msgpack:"started"`
}

func (g *counter) operate(o abi.EntityCall) error {
	reply := abi.OperationReply{Value: abi.Nil}
	if g.repaired && (o.Operation == "crash" || o.Operation == "spin") {
		o = abi.EntityCall{Operation: "add", Input: abi.MustMarshal(1)}
	}
	switch o.Operation {
	case "add":
		var n int64
		if err := abi.Unmarshal(o.Input, &n); err != nil {
			return abi.Errorf(abi.CodeGuestTrap, "not a number")
		}
		g.value += n
		g.there = true
		reply.Value = abi.MustMarshal(g.value)
	case "get":
		reply.Value = abi.MustMarshal(g.value)
	case "fail":
		reply = abi.OperationReply{Error: &abi.Error{Message: "no"}}
	case "crash":
		return abi.Errorf(abi.CodeGuestTrap, "index out of range")
	case "spin":
		return abi.Errorf(abi.CodeGuestTimeout, "the module did not return")
	case "large":
		g.large = true
	case "destroy":
		g.value, g.there = 0, false
	case "sends":
		var in sendsInput
		if err := abi.Unmarshal(o.Input, &in); err != nil {
			return err
		}
		g.value++
		g.there = true
		reply.Sent, reply.Started = in.Sent, in.Started
	}
	g.replies = append(g.replies, reply)
	return nil
}

func (g *counter) ran() *instance.Result {
	ran := &instance.Result{}
	ran.Replies = g.replies
	if g.there {
		ran.State, ran.Version = abi.MustMarshal(g.value), g.version
	}
	if g.large {
		ran.State = make([]byte, snapshot.MaxState+1)
	}
	return ran
}

// fill puts a message into an inbox, as another host would.
func (f *fixture) fill(id journal.ID, m journal.Message) {
	f.t.Helper()
	f.commits.mu.Lock()
	defer f.commits.mu.Unlock()
	f.putLocked(journal.Write{ID: id, Receive: &m})
}

// putLocked commits a message. On a slow machine the outcome may be unknown; a repeat finds the message.
func (f *fixture) putLocked(w journal.Write) {
	f.t.Helper()
	_, err := f.commits.applyLocked(w)
	for errors.Is(err, journal.ErrUndecided) {
		_, err = f.commits.applyLocked(w)
	}
	require.NoError(f.t, err)
}

// fillRun puts a message into the inbox of a run of an execution.
func (f *fixture) fillRun(id journal.ID, m journal.Message) {
	f.t.Helper()
	f.commits.mu.Lock()
	defer f.commits.mu.Unlock()
	f.putLocked(journal.Write{
		ID: refTo("sender").ID(), Send: []journal.Sent{{To: id, Chain: journal.RunID{1}, Message: m}},
	})
}

// refTo names a counter.
func refTo(key string) target.Ref {
	return target.Ref{Namespace: "default", Type: "bank/Counter", Key: key}
}

func origin(n byte) journal.Origin { return journal.Origin{n, 1} }

func add(key string, n int64) call.Request {
	return call.Request{Entity: refTo(key), Operation: "add", Input: abi.MustMarshal(n)}
}

func operation(key, name string) call.Request {
	return call.Request{Entity: refTo(key), Operation: name, Input: abi.Nil}
}

// by is a request with an origin.
func by(r call.Request, o journal.Origin) call.Request {
	r.Origin = o
	return r
}

// value returns the result of a call, as a number.
func (f *fixture) value(o abi.Outcome, err error) int64 {
	f.t.Helper()
	require.NoError(f.t, err)
	if o.Error != nil {
		require.NoError(f.t, o.Error)
	}
	var n int64
	require.NoError(f.t, abi.Unmarshal(o.Value, &n))
	return n
}

// stored is the state in the store; 0 and false if there is none.
func (f *fixture) stored(key string) (int64, bool) {
	f.t.Helper()
	row, err := f.store.Entity(context.Background(), refTo(key).ID())
	if errors.Is(err, journal.ErrNotFound) {
		return 0, false
	}
	require.NoError(f.t, err)
	var n int64
	require.NoError(f.t, abi.Unmarshal(row.State, &n))
	return n, true
}

// result is the outcome of a call in the background.
type result struct {
	outcome abi.Outcome
	err     error
}

// goCall calls in the background.
func (f *fixture) goCall(ctx context.Context, req call.Request) <-chan result {
	done := make(chan result, 1)
	go func() {
		o, err := f.x.Caller.Call(ctx, req)
		done <- result{o, err}
	}()
	return done
}

// waits returns the number of queued calls of an entity, without running ones; -1 if that changes
// now.
func (f *fixture) waits(key string) int {
	waiting := -1
	f.x.actors.WhileParked(refTo(key).ID(), func(e *entity) (message, bool) {
		waiting, _ = e.mailbox.Size()
		return nil, false
	})
	return waiting
}

// queuedCalls waits until so many calls of an entity are queued, without running ones.
func (f *fixture) queuedCalls(key string, n int) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.waits(key) == n }, testTimeout, testTick)
}

// invoked tells whether guests were asked to run something.
func (f *fixture) invoked(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.invocations, what)
}

const (
	testTimeout = 90 * time.Second
	testTick    = time.Millisecond
)
