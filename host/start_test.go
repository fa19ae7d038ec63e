package host

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// startBundle is an engine and an execution that is not durable yet. Its module
// is missing, so whoever runs it pauses it.
func startBundle(t *testing.T) (*Engine, *memory.Store, *journal.Execution) {
	store := memory.New()
	e, err := New(Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, e.Stop(context.Background())) })
	return e, store, &journal.Execution{
		ID: journal.IDOf(DefaultNamespace, "gone/Workflow", "k"), Namespace: DefaultNamespace, Workflow: "gone/Workflow", Key: "k",
		Digest: "missing", Input: abi.Nil, State: journal.Running, WakeAt: journal.Now, CreatedAt: 1,
	}
}

// TestStartThatIsFoundFirst has an execution found in the store, brought to its
// end and forgotten before the caller of its start comes to hand it over.
func TestStartThatIsFoundFirst(t *testing.T) {
	t.Parallel()
	e, store, row := startBundle(t)
	e.beginStart(row.ID)
	_, err := e.commit(journal.Write{ID: row.ID, Start: row})
	require.NoError(t, err)
	e.nudge(row.ID)
	<-e.work.idle()
	require.Zero(t, e.inMemory())
	over := journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: abi.Nil, FinishedAt: 2}
	_, err = e.commit(journal.Write{ID: row.ID, Update: &over})
	require.NoError(t, err)

	e.endStart(row, journal.Result{}, nil)
	<-e.work.idle()
	after, err := store.Load(t.Context(), row.ID)
	require.NoError(t, err)
	require.Equal(t, journal.Completed, after.State, "it ran a second time")
	require.Empty(t, e.starting)
	require.Zero(t, e.inMemory())
}

// TestStartGivenUpInDoubt has the caller of a start leave before the store could
// tell whether it is durable. It is, so it must run.
func TestStartGivenUpInDoubt(t *testing.T) {
	t.Parallel()
	e, store, row := startBundle(t)
	e.beginStart(row.ID)
	_, err := e.commit(journal.Write{ID: row.ID, Start: row})
	require.NoError(t, err)
	e.endStart(row, journal.Result{}, journal.ErrUndecided)
	<-e.work.idle()
	after, err := store.Load(t.Context(), row.ID)
	require.NoError(t, err)
	require.Equal(t, journal.Paused, after.State, "nobody ran it")
}

// TestSettledOpNeedsNoTimer holds a sleep that is over up behind a transaction
// that is undecided: it waits for the transaction, and must not keep the host
// busy meanwhile.
func TestSettledOpNeedsNoTimer(t *testing.T) {
	t.Parallel()
	e, _, row := startBundle(t)
	r := newRun(e, row.ID)
	r.adopt(row)
	o, failure := newOp(abi.OpSleep, abi.MustMarshal(&abi.Sleep{Duration: 1}), 1, 1)
	require.Nil(t, failure)
	r.pending[1], r.reserved[1] = o, struct{}{}
	r.completeDue()
	require.True(t, o.settled())
	r.settleDown()
	require.False(t, e.timers.has(row.ID))
}

// doubting is a store that loses the answer to one commit, which took effect,
// or one commit itself, which did not.
type doubting struct {
	journal.Store
	lose, drop atomic.Bool
}

func (d *doubting) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	if d.drop.CompareAndSwap(true, false) {
		return nil, journal.ErrUndecided
	}
	results, err := d.Store.Commit(ctx, writes)
	if err == nil && d.lose.CompareAndSwap(true, false) {
		return nil, journal.ErrUndecided
	}
	return results, err
}

// pausedBundle is an engine over a store that can lose answers, and an execution
// in it that is paused.
func pausedBundle(t *testing.T) (*Engine, *doubting, *journal.Execution) {
	e, _, row := startBundle(t)
	store := &doubting{Store: e.store}
	e.committer.Stop()
	e.committer = journal.NewCommitter(store, journal.CommitterOptions{})
	row.State, row.Error, row.WakeAt = journal.Paused, abi.Errorf(abi.CodeModuleNotFound, "gone"), journal.Never
	_, err := e.commit(journal.Write{ID: row.ID, Start: row})
	require.NoError(t, err)
	return e, store, row
}

// TestFailInDoubt has the answer to the commit of a failure lost, whether or not
// it took effect. The caller hears of neither: the row tells what is to be done,
// and waiters are told once it is.
func TestFailInDoubt(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*doubting) *atomic.Bool{
		"took effect":    func(d *doubting) *atomic.Bool { return &d.lose },
		"took no effect": func(d *doubting) *atomic.Bool { return &d.drop },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, store, row := pausedBundle(t)
			var told []journal.State
			e.waiters.add(row.ID, func(row *journal.Execution) bool {
				told = append(told, row.State)
				return row.State.Final()
			})
			lose(store).Store(true)
			require.NoError(t, e.Fail(t.Context(), "", row.Name(), "given up"))
			require.False(t, lose(store).Load(), "no answer was lost")
			<-e.work.idle()
			require.Equal(t, journal.Failed, told[len(told)-1])
			after, err := store.Load(t.Context(), row.ID)
			require.NoError(t, err)
			require.Equal(t, journal.Failed, after.State)
			require.Equal(t, abi.CodeFailedByOperator, after.Error.Code)
			require.Equal(t, abi.CodeNotPaused, abi.CodeOf(e.Fail(t.Context(), "", row.Name(), "given up")), "it was another request")
		})
	}
}

// TestResumeInDoubt has the answer to a resume lost. The caller hears so, but
// the execution goes on: here until it finds its module missing again.
func TestResumeInDoubt(t *testing.T) {
	t.Parallel()
	e, store, row := pausedBundle(t)

	store.lose.Store(true)
	require.Equal(t, abi.CodeStore, abi.CodeOf(e.Resume(t.Context(), "", row.Name())))
	<-e.work.idle()
	after, err := store.Load(t.Context(), row.ID)
	require.NoError(t, err)
	require.Equal(t, journal.Paused, after.State, "nobody loaded it")
}

// TestDrainingGivesUp repeats a request that a draining host refuses: it must
// not hold the host up.
func TestDrainingGivesUp(t *testing.T) {
	t.Parallel()
	e, _, _ := startBundle(t)
	e.draining.Store(true)
	_, ok := e.persist(t.Context(), "start a workflow", e.accepting)
	require.False(t, ok)
}

func TestAbsentInput(t *testing.T) {
	t.Parallel()
	text := &abi.Schema{Type: abi.TypeString}
	optional := &abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{{Name: "a", Schema: text}}}
	nullable := &abi.Schema{Type: abi.TypeStruct, Nullable: true}
	required := &abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{{Name: "a", Schema: text}, {Name: "b", Required: true, Schema: text}}}
	empty := abi.MustMarshal(map[string]any{})
	for name, c := range map[string]struct {
		schema *abi.Schema
		want   []byte // nil: it is refused
	}{
		"nothing is asked for":  {&abi.Schema{Type: abi.TypeStruct}, empty},
		"all of it is optional": {optional, empty},
		"null fits":             {nullable, abi.Nil},
		"anything fits":         {nil, abi.Nil},
		"a field is required":   {required, nil},
		"it is not a struct":    {text, nil},
	} {
		got, err := checkInput(&abi.WorkflowInfo{Name: "W", Input: c.schema}, nil)
		if c.want == nil {
			require.Equal(t, abi.CodeBadInput, abi.CodeOf(err), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := checkInput(&abi.WorkflowInfo{Name: "W", Input: optional}, abi.Nil)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err), "null is not the same as nothing")
}
