package activity

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/journal"
)

// bundle is a runner whose store, catalog and network are in the test's hands. The code of the activity is real.
type bundle struct {
	*Runner
	life *hoststate.State
	task Task
	code *wasm.Module

	mu       sync.Mutex
	commits  []error         // guarded by mu; answers of the next commits
	found    []journal.Entry // guarded by mu; the findings of a look into the journal
	lookups  int             // guarded by mu
	voids    []func() error  // guarded by mu; answers of the next commits of voids
	begin    []error         // guarded by mu; answers of the next transactions
	away     func() bool     // tells whether no transaction begins
	tx       *fakeTx
	voided   []uint64
	reserved uint64
	unwanted bool
	collided []int   // guarded by mu; the earlier conflicts that transactions were told
	modules  []error // guarded by mu; answers of the next searches for the module
	requests int     // guarded by mu; HTTP calls
	parts    []int   // guarded by mu; how many entries and updates each commit had
}

type fakeTx struct {
	queries    []string
	rolledBack int
	err        error
}

func (tx *fakeTx) Exec(_ context.Context, query string, _ []any) (int64, error) {
	tx.queries = append(tx.queries, query)
	return 1, tx.err
}

func (tx *fakeTx) Query(_ context.Context, query string, _ []any) ([]string, [][]any, error) {
	tx.queries = append(tx.queries, query)
	return []string{"n"}, [][]any{{int64(1)}}, tx.err
}

func (tx *fakeTx) Commit(context.Context, journal.Write) error { return nil }

func (tx *fakeTx) Rollback(context.Context) error {
	tx.rolledBack++
	return nil
}

func (b *bundle) BeginGuest(ctx context.Context, _ string) (journal.GuestTx, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.collided = append(b.collided, journal.Conflicts(ctx))
	if b.away != nil && b.away() {
		return nil, errors.New("no connection")
	}
	if len(b.begin) > 0 {
		err := b.begin[0]
		b.begin = b.begin[1:]
		if err != nil {
			return nil, err
		}
	}
	return b.tx, nil
}

func (b *bundle) Entries(context.Context, journal.RunKey, uint64, journal.PageLimit) ([]journal.Entry, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lookups++
	return b.found, false, nil
}

// Commit takes an entry in the place of a transaction that is in doubt.
func (b *bundle) Commit(w journal.Write) (journal.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.found, func(e journal.Entry) bool { return e.Seq == w.Entries[0].Seq }) {
		return journal.Result{}, errors.New("there is such an entry already")
	}
	if len(b.voids) == 0 {
		return journal.Result{}, nil
	}
	err := b.voids[0]()
	b.voids = b.voids[1:]
	return journal.Result{}, err
}

func (b *bundle) CommitTx(ctx context.Context, _ journal.GuestTx, w journal.Write) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts = append(b.parts, len(w.Entries)+map[bool]int{true: 1}[w.Update != nil])
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(b.commits) == 0 {
		return nil
	}
	err := b.commits[0]
	b.commits = b.commits[1:]
	return err
}

func (b *bundle) Module(context.Context, string) (*catalog.Module, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.modules) > 0 {
		err := b.modules[0]
		b.modules = b.modules[1:]
		if err != nil {
			return nil, err
		}
	}
	return &catalog.Module{Code: b.code}, nil
}

func (b *bundle) Deployment(context.Context, string, string) (*catalog.Deployment, error) {
	return &catalog.Deployment{Deployment: journal.Deployment{Config: map[string]string{"rate": "7"}}}, nil
}

func (b *bundle) Do(context.Context, *egress.Policy, abi.HTTPRequest) (*abi.HTTPResponse, *abi.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	return &abi.HTTPResponse{Status: 204}, nil
}

func (b *bundle) DoAll(ctx context.Context, p *egress.Policy, reqs []abi.HTTPRequest) []abi.HTTPResult {
	results := make([]abi.HTTPResult, len(reqs))
	for i := range reqs {
		results[i].Response, results[i].Error = b.Do(ctx, p, reqs[i])
	}
	return results
}

func setup(t *testing.T, p wasmtest.Program) *bundle {
	t.Helper()
	runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	code, err := runtime.Compile(t.Context(), p.Assemble())
	require.NoError(t, err)
	b := &bundle{life: hoststate.New(), code: code, tx: &fakeTx{}}
	b.Runner = NewRunner(Deps{
		Catalog:   b,
		Clock:     clockwork.NewRealClock(),
		Committer: b,
		Egress:    b,
		Host:      b.life,
		Logger:    slog.New(slog.DiscardHandler),
		Memory:    budget.New(1 << 30),
		Random:    func() float64 { return 1 },
		Store:     b,
		Timeout:   time.Minute,
	})
	b.task = Task{
		Row:  &journal.Execution{ID: journal.ID{1}, Namespace: "default", Workflow: "tiny/W", Key: "k"},
		Op:   journal.Op{Number: 3, Kind: abi.OpActivity, Name: "step"},
		Body: &abi.Activity{Name: "step", Input: abi.Nil},
		Reserve: func(_ context.Context, value []byte, attempts uint32) (journal.Entry, bool) {
			b.reserved++
			return journal.Entry{
				Seq:      b.reserved,
				Value:    value,
				Attempts: attempts,
				Op:       journal.Op{Number: 3, Kind: abi.OpActivity, Name: "step"},
			}, !b.unwanted
		},
		Void: func(seq uint64) { b.voided = append(b.voided, seq) },
	}
	return b
}

var (
	done   = &abi.Outcome{Value: abi.MustMarshal("done")}
	useSQL = wasmtest.ImportCall{
		Import: abi.ImportTxExec, Body: abi.MustMarshal(&abi.SQL{Query: "UPDATE t SET a = 1"}),
	}
	withSQL = wasmtest.Program{Calls: []wasmtest.ImportCall{useSQL}, Outcome: done}
)

func TestPerform(t *testing.T) {
	t.Parallel()
	b := setup(t, wasmtest.Program{Outcome: done})
	b.task.Failed = 2
	require.Equal(t, Done{Outcome: *done, Attempts: 3}, b.Perform(t.Context(), b.task))
}

func TestPerformFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program wasmtest.Program
		code    abi.Code
	}{
		"an error without a code": {
			wasmtest.Program{Outcome: &abi.Outcome{Error: &abi.Error{Message: "no"}}}, abi.CodeActivityFailed,
		},
		"an error with a code": {
			wasmtest.Program{Outcome: &abi.Outcome{Error: abi.Errorf(abi.CodeSQL, "no")}}, abi.CodeSQL,
		},
		"it parks": {wasmtest.Program{}, abi.CodeActivityCrashed},
	} {
		b := setup(t, c.program)
		report, ok := b.Perform(t.Context(), b.task).(Failed)
		require.True(t, ok, name)
		require.Equal(t, c.code, report.Err.Code, name)
	}
}

// The hint of activities explains a crash, unless its cause has a better hint.
func TestHintsOfCrashes(t *testing.T) {
	t.Parallel()
	for cause, hint := range map[abi.Code]string{
		abi.CodeGuestTrap:   abi.CodeActivityCrashed.Info().Hint,
		abi.CodeGuestMemory: abi.CodeGuestMemory.Info().Hint,
	} {
		b := setup(t, wasmtest.Program{Outcome: done})
		a := newAttempt(b.Runner, b.task)
		report, err := a.crashed(t.Context(), abi.Errorf(cause, "no"))
		require.NoError(t, err)
		require.Equal(t, abi.CodeActivityCrashed, report.(Failed).Err.Code)
		require.Equal(t, hint, report.(Failed).Err.Hint)
	}
}

func TestPerformWithSQL(t *testing.T) {
	t.Parallel()
	b := setup(t, withSQL)
	report, ok := b.Perform(t.Context(), b.task).(Committed)
	require.True(t, ok)
	require.EqualValues(t, 1, report.Entry.Seq)
	require.Equal(t, done.Value, report.Entry.Value)
	require.Equal(t, []string{"UPDATE t SET a = 1"}, b.tx.queries)
	require.Zero(t, b.tx.rolledBack)
}

// TestTransactionNotWaitedFor ends an attempt whose op was cancelled meanwhile.
func TestTransactionNotWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t, withSQL)
	b.unwanted = true
	require.Equal(t, Dropped{}, b.Perform(t.Context(), b.task))
	require.Equal(t, 1, b.tx.rolledBack)
}

// TestStoreFailuresAreRepeated has the store fail before the first statement. The attempt is repeated and not counted.
func TestStoreFailuresAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		b.begin = []error{errors.New("no connection"), errors.New("no connection"), nil}
		require.EqualValues(t, 1, b.Perform(t.Context(), b.task).(Committed).Entry.Attempts)
	})
}

// TestUndecidedCommitIsLookedUp loses the answer to a commit.
func TestUndecidedCommitIsLookedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		b.commits = []error{journal.ErrUndecided}
		b.found = []journal.Entry{{Kind: journal.Delivery, Seq: 1, Op: b.task.Op}}
		require.EqualValues(t, 1, b.Perform(t.Context(), b.task).(Committed).Entry.Seq, "it took effect")

		b = setup(t, withSQL)
		b.commits = []error{journal.ErrUndecided}
		require.EqualValues(t, 2, b.Perform(t.Context(), b.task).(Committed).Entry.Seq, "it did not, and is repeated")
		require.Equal(t, []uint64{1}, b.voided)
	})
}

func TestFencedCommitReportsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, withSQL)
	b.commits = []error{journal.ErrFenced}
	require.Nil(t, b.Perform(t.Context(), b.task))
	require.Empty(t, b.voided, "this host decides nothing any more")
}

// TestCommitUnderWayIsNotCancelled has the op cancelled between the reservation and the commit. The execution delivers
// nothing else until it knows the fate of the number, so the commit goes on and is reported.
func TestCommitUnderWayIsNotCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t, withSQL)
	ctx, cancel := context.WithCancel(t.Context())
	reserve := b.task.Reserve
	b.task.Reserve = func(ctx context.Context, value []byte, attempts uint32) (journal.Entry, bool) {
		defer cancel()
		return reserve(ctx, value, attempts)
	}
	require.IsType(t, Committed{}, b.Perform(ctx, b.task))
}

func TestRefusedCommitFails(t *testing.T) {
	t.Parallel()
	b := setup(t, withSQL)
	b.commits = []error{abi.Errorf(abi.CodeSQL, "constraint violated")}
	require.Equal(t, abi.CodeSQL, b.Perform(t.Context(), b.task).(Failed).Err.Code)
	require.Equal(t, []uint64{1}, b.voided)
}

// TestTimeout stops an attempt that has used up its time.
func TestTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t, wasmtest.Program{})
	runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	b.code, err = runtime.Compile(
		t.Context(), wasmtest.Module{Start: wasmtest.Join(wasmtest.Endless, wasmtest.Unreachable)}.Assemble(),
	)
	require.NoError(t, err)
	b.task.Body.Timeout = int64(50 * time.Millisecond)
	failed := b.Perform(t.Context(), b.task).(Failed)
	require.Equal(t, abi.CodeActivityTimeout, failed.Err.Code)
	require.Contains(t, failed.Err.Message, "50ms")
}

// TestTimeoutSaysWhere: an attempt that is late tells where its guest was.
func TestTimeoutSaysWhere(t *testing.T) {
	t.Parallel()
	b := setup(t, wasmtest.Program{})
	over, end := context.WithCancel(t.Context())
	end()
	trap := &wasm.Trap{
		Err: abi.Errorf(abi.CodeGuestTimeout, "stopped (in main.f a/main.go:3)"), Place: " (in main.f a/main.go:3)",
	}
	report, err := newAttempt(b.Runner, b.task).crashed(over, trap)
	require.NoError(t, err)
	require.Equal(t, abi.CodeActivityTimeout, report.(Failed).Err.Code)
	require.Contains(t, report.(Failed).Err.Message, "took longer than 1m0s (in main.f a/main.go:3)")
}

func TestDrainingBeginsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, wasmtest.Program{Outcome: done})
	b.life.Drain()
	require.Nil(t, b.Perform(t.Context(), b.task))
}

// TestMayBeginIsAskedWithoutMemory: the answer is the run's, which may be waiting behind runs that wait for memory.
func TestMayBeginIsAskedWithoutMemory(t *testing.T) {
	t.Parallel()
	b := setup(t, wasmtest.Program{Outcome: done})
	asked := 0
	b.task.Begin = func(context.Context) bool {
		asked++
		require.Zero(t, b.Memory.Used())
		return true
	}
	require.IsType(t, Done{}, b.Perform(t.Context(), b.task))
	require.Equal(t, 1, asked)
	b.task.Begin = func(context.Context) bool { return false }
	require.Nil(t, b.Perform(t.Context(), b.task))
}

func TestCancelledTaskReportsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, wasmtest.Program{Outcome: done})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Nil(t, b.Perform(ctx, b.task))
}

// TestFailuresOfTheHostAreRepeated has the host fail to run the activity, for reasons that pass. They are no attempts.
func TestFailuresOfTheHostAreRepeated(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"the store":       abi.Errorf(abi.CodeStore, "no connection"),
		"no memory":       abi.Errorf(abi.CodeOverloaded, "no memory"),
		"something":       errors.New("no such thing"),
		"a broken engine": abi.Errorf(abi.CodeInternal, "the engine panicked"),
		"initialisation":  abi.Errorf(abi.CodeModuleInit, "the module failed in _initialize"),
	} {
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, wasmtest.Program{Outcome: done})
			b.modules = []error{failure, failure, failure}
			require.Equal(t, Done{Outcome: *done, Attempts: 1}, b.Perform(t.Context(), b.task), name)
		})
	}
}

// TestStuck has the host fail to run the activity for a reason that stays. It gives up on that, and blames the activity
// for nothing.
func TestStuck(t *testing.T) {
	t.Parallel()
	for code, stuck := range map[abi.Code]bool{
		abi.CodeModuleNotFound: true,
		abi.CodeModuleInit:     true,
		abi.CodeInternal:       true,
		abi.CodeStore:          false,
		abi.CodeOverloaded:     false,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, wasmtest.Program{Outcome: done})
			for range stuckLimit {
				b.modules = append(b.modules, abi.Errorf(code, "no"))
			}
			report := b.Perform(t.Context(), b.task)
			if !stuck {
				require.IsType(t, Done{}, report, code)
				return
			}
			require.Equal(t, code, report.(Stuck).Err.Code)
		})
	}
}

// TestCallsOutsideAreRarelyRepeated has an activity call outside and then use a store that is away for longer than it
// may take. It calls again when the store is back.
func TestCallsOutsideAreRarelyRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := wasmtest.ImportCall{
			Import: abi.ImportHTTP,
			Body:   abi.MustMarshal(&abi.HTTPRequest{Method: "POST", URL: "http://payments.test/"}),
		}
		b := setup(t, wasmtest.Program{Calls: []wasmtest.ImportCall{call, useSQL}, Outcome: done})
		start := time.Now()
		b.away = func() bool { return time.Since(start) < 90*time.Second }
		require.IsType(t, Committed{}, b.Perform(t.Context(), b.task))
		require.Equal(t, 2, b.requests, "the time of the first attempt was over")
		require.Less(t, time.Since(start), 100*time.Second, "it goes on soon after the store is back")
	})
}

// TestStatementWaitsForTheStore has the store go away between a call outside and the first statement, for less than the
// activity may take. It does not call again.
func TestStatementWaitsForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := wasmtest.ImportCall{
			Import: abi.ImportHTTP,
			Body:   abi.MustMarshal(&abi.HTTPRequest{Method: "POST", URL: "http://payments.test/"}),
		}
		b := setup(t, wasmtest.Program{Calls: []wasmtest.ImportCall{call, useSQL}, Outcome: done})
		start := time.Now()
		b.away = func() bool { return time.Since(start) < 30*time.Second }
		require.EqualValues(t, 1, b.Perform(t.Context(), b.task).(Committed).Entry.Attempts)
		require.Equal(t, 1, b.requests)
	})
}

// TestUndecidedCommitUnderWay loses the answer to a commit that is still under way in the database when the journal is
// read. It wins over the entry that is to take its place.
func TestUndecidedCommitUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		b.commits = []error{journal.ErrUndecided}
		b.voids = []func() error{func() error {
			b.found = []journal.Entry{{Kind: journal.Delivery, Seq: 1, Op: b.task.Op}}
			return errors.New("there is an entry 1 already")
		}}
		require.EqualValues(t, 1, b.Perform(t.Context(), b.task).(Committed).Entry.Seq)
		require.Empty(t, b.voided)
	})
}

// TestUndecidedVoid loses the answers to both: the journal has the entry that took the place of the transaction.
func TestUndecidedVoid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		b.commits = []error{journal.ErrUndecided}
		b.voids = []func() error{func() error {
			b.found = []journal.Entry{{Kind: journal.Void, Seq: 1, Op: b.task.Op}}
			return journal.ErrUndecided
		}}
		require.EqualValues(t, 2, b.Perform(t.Context(), b.task).(Committed).Entry.Seq, "it is repeated")
		require.Equal(t, []uint64{1}, b.voided)
	})
}

// TestUndecidedCommitThatEndsTheRun loses the answer to a commit with the turn that ends the run, which takes no
// entry in the place of that one then. The activity has been performed.
func TestUndecidedCommitThatEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		b.commits = []error{journal.ErrUndecided}
		b.voids = []func() error{func() error {
			b.found = []journal.Entry{{Kind: journal.Delivery, Seq: 1, Op: b.task.Op}}
			return journal.ErrNotFound
		}}
		require.EqualValues(t, 1, b.Perform(t.Context(), b.task).(Committed).Entry.Seq)
		require.Empty(t, b.voided)
	})
}

// TestUndecidedCommitOfARunThatIsGone loses the answer to a commit, and the run is deleted before the journal can be
// asked. Its transaction cannot commit any more.
func TestUndecidedCommitOfARunThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		ctx, cancel := context.WithCancel(t.Context())
		b.commits = []error{journal.ErrUndecided}
		b.voids = []func() error{func() error {
			cancel() // an ended run gives its tasks up
			return journal.ErrNotFound
		}}
		require.Nil(t, b.Perform(ctx, b.task))
		require.Equal(t, []uint64{1}, b.voided)
	})
}

// TestGrowthTakesMemory has an activity grow its memory while others have all that is left. That is no fault of the
// activity: it is repeated until there is room.
func TestGrowthTakesMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, wasmtest.Program{})
		runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer func() { require.NoError(t, runtime.Close(context.Background())) }()
		const grown = 1 << 20
		b.code, err = runtime.Compile(t.Context(), wasmtest.Module{
			// memory.grow, drop
			Start: wasmtest.Join(
				wasmtest.I32Const(grown>>16), []byte{0x40, 0, 0x1a}, wasmtest.I32Const(abi.StatusParked),
			),
		}.Assemble())
		require.NoError(t, err)
		b.Memory = budget.New(b.code.MemoryBytes() + grown)
		others, err := b.Memory.Acquire(t.Context(), grown)
		require.NoError(t, err)
		ended := make(chan Report, 1)
		go func() { ended <- b.Perform(t.Context(), b.task) }()
		synctest.Wait()
		require.Empty(t, ended, "it has grown into the memory of others")
		others.Release()
		require.Equal(t, abi.CodeActivityCrashed, (<-ended).(Failed).Err.Code, "it parks, which activities may not")
		require.Zero(t, b.Memory.Used())
	})
}
