package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// TestLengthOfTheJournal: a workflow is told how long its journal is, and a replay tells it the same.
func TestLengthOfTheJournal(t *testing.T) {
	t.Parallel()
	for _, l := range wholeLanguages() {
		for variant, evict := range map[string]bool{"warm": false, "evicting": true} {
			t.Run(l.name+"-"+variant, func(t *testing.T) {
				t.Parallel()
				b := setup(t, l, "sqlite", nil, func(c *host.Config) { undertest.Of(&c.UnderTest).EvictAlways = evict })
				row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Lengths", 4))
				require.Equal(t, journal.Completed, row.State, "%v", row.Error)
				require.Equal(
					t, []any{int8(0), int8(1), int8(2), int8(3), int8(4), false}, harness.Decode[[]any](t, row.Value),
				)
			})
		}
	}
}

// TestStoppedAtTheLimit: an execution is paused at the limit of its journal. It is asked to stop and
// cleans up in one step, though the host is killed before, and in the middle of the cleanup.
func TestStoppedAtTheLimit(t *testing.T) {
	t.Parallel()
	eachSetting(t, func(t *testing.T, l language, kind string) {
		if kind == "sqlite" {
			stopAtTheLimit(t, l, harness.NewProcess(t, "sqlite:"+t.TempDir()))
			return
		}
		stopAtTheLimit(t, l, harness.NewProcess(t, pgtest.DSN(t), "--schema", pgtest.Schema(t)))
	})
}

func stopAtTheLimit(t *testing.T, l language, p *harness.Process) {
	const limit, cleanup = 50, 30
	p.Arm("CRUSTER_MAX_ENTRIES=50")
	p.Start()
	c, err := client.Dial(p.GRPC, client.WithRetryFor(harness.Patience))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Push(t.Context(), client.PushRequest{Name: "conformance", Binary: harness.Module(t, l.pkg)})
	require.NoError(t, err)
	run, err := client.Workflow[int, string](c, "conformance/Endures").Start(t.Context(), cleanup)
	require.NoError(t, err)
	_, err = run.Wait(t.Context())
	require.Equal(t, abi.CodeExecutionTooLong, abi.CodeOf(err), "%v", err)
	d, err := c.Workflows().GetExecution(
		t.Context(), &crusterv1.GetExecutionRequest{
			View: crusterv1.ExecutionView_EXECUTION_VIEW_FULL, Execution: run.Execution(),
		},
	)
	require.NoError(t, err)
	require.EqualValues(t, limit, d.GetDetails().GetEntryLimit())
	require.Greater(t, d.GetDetails().GetEntries(), uint64(limit))

	p.Kill()
	require.Contains(t, p.Log(), "the journal comes near its limit")
	p.Arm("CRUSTER_MAX_ENTRIES=50", "CRUSTER_FAULT=turn.after-commit@15")
	p.Start()
	require.NoError(t, run.ResumeToStop(t.Context(), "too long"))
	p.Exit()
	p.Arm("CRUSTER_MAX_ENTRIES=50")
	p.Start()
	_, err = run.Wait(t.Context())
	require.Equal(t, abi.CodeInterrupted, abi.CodeOf(err), "%v", err)
	status, err := run.Poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Interrupted, status.State)
	require.Equal(t, cleanup, notes(t, c, run.Execution()))
}

// notes counts the steps of a cleanup.
func notes(t *testing.T, c *client.Client, execution string) (n int) {
	t.Helper()
	page, err := c.Workflows().ListHistory(
		t.Context(), &crusterv1.ListHistoryRequest{Execution: execution, PageSize: 1000},
	)
	require.NoError(t, err)
	for _, en := range page.GetEntries() {
		if en.GetKind() == string(journal.Delivery) && en.GetName() == "note" {
			n++
		}
	}
	return n
}
