package host

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// TestMailBehindAResume reads a box in which more stands behind a piece of mail
// that has the run unloaded.
func TestMailBehindAResume(t *testing.T) {
	t.Parallel()
	store := memory.New()
	e, err := New(Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, e.Stop(context.Background())) })

	row := &journal.Execution{
		ID: journal.IDOf(DefaultNamespace, "gone/Workflow", "k"), Namespace: DefaultNamespace, Workflow: "gone/Workflow", Key: "k",
		Digest: "missing", Input: abi.Nil, State: journal.Paused, WakeAt: journal.Never, CreatedAt: 1,
		Error: abi.Errorf(abi.CodeModuleNotFound, "gone"),
	}
	_, err = e.commit(journal.Write{ID: row.ID, Start: row})
	require.NoError(t, err)

	r := newRun(e, row.ID)
	resumed, settled, inspected := make(chan error, 1), make(chan error, 1), make(chan inspection, 1)
	r.mail = []event{
		resumeMail{resumed},
		settleMail{journal.Deferred{Name: "d", Value: abi.Nil, At: 2}, settled},
		inspectMail{inspected},
	}
	r.workOff()

	require.NoError(t, <-resumed)
	require.NoError(t, <-settled)
	require.NoError(t, (<-inspected).err)
	after, err := store.Load(t.Context(), row.ID)
	require.NoError(t, err)
	require.Equal(t, journal.Paused, after.State, "its module is still missing")
	require.Equal(t, abi.CodeModuleNotFound, after.Error.Code)
}
