package host

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// waiting is a module whose workflow waits for the deferred "gate".
var waiting = wasmtest.Program{
	Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}},
	Calls:    []wasmtest.ImportCall{{Import: abi.OpDeferred, Body: abi.MustMarshal(&abi.Deferred{Name: "gate"})}},
}.Assemble()

// newTestEngine starts an engine with the module deployed; it ends with the test.
func newTestEngine(t *testing.T, store journal.Store, options ...func(*Config)) *Engine {
	t.Helper()
	cfg := Config{Store: store, Logger: slog.New(slog.DiscardHandler)}
	for _, o := range options {
		o(&cfg)
	}
	e, err := New(cfg)
	require.NoError(t, err)
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(e.Ready(t.Context())), "it has not started")
	require.NoError(t, e.Start(t.Context()))
	<-e.Started()
	require.NoError(t, e.Ready(t.Context()))
	t.Cleanup(func() { require.NoError(t, e.Stop(context.Background())) })
	_, err = e.Deployments().Push(t.Context(), PushRequest{Name: "tiny", Binary: waiting})
	require.NoError(t, err)
	return e
}

func TestStartWorkflow(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	req := StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw}
	row, existed, err := e.Launcher().Start(t.Context(), req)
	require.NoError(t, err)
	require.False(t, existed)
	require.Equal(t, "tiny/W/a", row.Name())
	require.Equal(t, DefaultNamespace, row.Namespace)
	again, existed, err := e.Launcher().Start(t.Context(), req)
	require.NoError(t, err)
	require.True(t, existed)
	require.Equal(t, row.CreatedAt, again.CreatedAt)

	for name, c := range map[string]struct {
		req  StartRequest
		code abi.Code
	}{
		"an unknown workflow": {StartRequest{Workflow: "tiny/Other"}, abi.CodeUnknownWorkflow},
		"a bad input":         {StartRequest{Workflow: "tiny/W", Input: []byte{0xc1}}, abi.CodeBadInput},
		"a bad key":           {StartRequest{Workflow: "tiny/W", KeyMode: abi.KeyRaw}, abi.CodeBadKey},
		"another namespace":   {StartRequest{Namespace: "elsewhere", Workflow: "tiny/W"}, abi.CodeDeploymentNotFound},
	} {
		_, _, err := e.Launcher().Start(t.Context(), c.req)
		require.Equal(t, c.code, abi.CodeOf(err), "%s: %v", name, err)
	}
}

// TestFullHostRefusesStarts fills a host. An execution that is under way still finds its answers, and its end makes
// room.
func TestFullHostRefusesStarts(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New(), func(c *Config) { c.MaxExecutions = 1 })
	first, _, err := e.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	_, _, err = e.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "b", KeyMode: abi.KeyRaw})
	require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
	require.Positive(t, RetryDelay(err))

	require.NoError(
		t, e.Executions().Settle(t.Context(), "", first.Name(), journal.Deferred{Name: "gate", Value: abi.Nil}),
	)
	over, err := e.Observer().Wait(t.Context(), "", first.Name())
	require.NoError(t, err)
	require.Equal(t, journal.Completed, over.State)
	<-e.executions.Idle()
	_, _, err = e.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "b", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	row, _, err := e.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	// The first question may arrive together with the start, or in the first turn.
	var d *Description
	require.Eventually(t, func() bool {
		d, err = e.Observer().Describe(t.Context(), "", row.Name())
		return err == nil && len(d.Pending) > 0 && d.Pending[0].Kind != execution.KindTurn
	}, 10*time.Minute, time.Millisecond)
	require.Equal(t, journal.Running, d.State)
	require.Len(t, d.Pending, 1)
	require.Equal(t, "gate", d.Pending[0].Name)
	require.True(t, d.Resident)
	require.Positive(t, d.Fuel)
	require.Zero(t, d.Entries)

	require.NoError(
		t,
		e.Executions().Settle(t.Context(), "", row.Name(), journal.Deferred{
			Name: "gate", Value: abi.MustMarshal("open"),
		}),
	)
	_, err = e.Observer().Wait(t.Context(), "", row.Name())
	require.NoError(t, err)
	d, err = e.Observer().Describe(t.Context(), "", row.Name())
	require.NoError(t, err)
	require.Equal(t, journal.Completed, d.State)
	require.Equal(t, 1, d.Entries)
	require.Len(t, d.Deferreds, 1)
	require.Empty(t, d.Pending)
	entries, _, err := e.Observer().History(t.Context(), "", row.Name(), 0, -1)
	require.NoError(t, err)
	require.Equal(t, abi.MustMarshal("open"), entries[0].Value)
	page, err := e.Observer().List(t.Context(), journal.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Executions, 1)

	for _, name := range []string{"tiny/W/b", "nonsense"} {
		_, err := e.Observer().Describe(t.Context(), "", name)
		require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err), name)
		_, _, err = e.Observer().History(t.Context(), "", name, 0, 1)
		require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err), name)
	}
}

// TestUnknownNames says of a name that there is not which one was probably meant.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	_, err := e.Observer().Poll(t.Context(), "", "tinny/W/a")
	require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err))
	require.Equal(
		t, `there is no execution "tinny/W/a": there is no deployment "tinny"; did you mean "tiny"?`,
		abi.AsError(err).Message,
	)
	_, err = e.Observer().Poll(t.Context(), "shop", "tiny/W/a")
	require.Equal(
		t,
		`there is no execution "tiny/W/a": there is no deployment "tiny" in namespace "shop": nothing is deployed there`,
		abi.AsError(err).Message,
	)
	_, err = e.Observer().Poll(t.Context(), "", "tiny/W/a")
	require.Equal(t, `there is no execution "tiny/W/a"`, abi.AsError(err).Message)
	_, err = e.Observer().Poll(t.Context(), "", "tiny/w/a")
	require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err))
	require.Equal(
		t, `there is no execution "tiny/w/a": deployment "tiny" has no workflow "w"; did you mean "W"?`,
		abi.AsError(err).Message,
	)

	for workflow, code := range map[string]abi.Code{
		"tiny/": "", "tiny/W": "", "tiny/V": abi.CodeUnknownWorkflow, "tinny/": abi.CodeDeploymentNotFound,
		"tiny/W/": abi.CodeUnknownWorkflow, "/": abi.CodeUnknownWorkflow,
	} {
		require.Equal(t, code, abi.CodeOf(e.Observer().RequireWorkflow(t.Context(), "", workflow)), workflow)
	}
	for entityType, code := range map[string]abi.Code{
		"": "", "tiny/": "", "tiny": abi.CodeUnknownEntity, "tiny/Account": abi.CodeUnknownEntity,
		"tinny/": abi.CodeDeploymentNotFound, "tinny/Account": abi.CodeDeploymentNotFound,
		"tiny/Account/": abi.CodeUnknownEntity, "/": abi.CodeUnknownEntity,
	} {
		found, err := e.Entities().List(t.Context(), journal.EntityFilter{Type: entityType, Limit: 1})
		require.Equal(t, code, abi.CodeOf(err), entityType)
		require.Empty(t, found)
	}
}

// TestDescribeTellsTheLimitOfTheJournal: an execution asked to stop may have more.
func TestDescribeTellsTheLimitOfTheJournal(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	row, _, err := e.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	limit := func() uint64 {
		d, err := e.Observer().Describe(t.Context(), "", row.Name())
		require.NoError(t, err)
		return d.EntryLimit
	}
	require.EqualValues(t, abi.MaxEntries, limit())
	require.NoError(t, e.Executions().Interrupt(t.Context(), "", row.Name(), "enough"))
	require.EqualValues(t, abi.MaxEntries+20_000, limit())
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	all, err := e.Deployments().List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 1)
	one, err := e.Deployments().Describe(t.Context(), DefaultNamespace, "tiny")
	require.NoError(t, err)
	require.Equal(t, all[0], *one)
	require.Equal(t, "W", one.Manifest.Workflows[0].Name)
}

// TestTakenOver has another engine claim the shards. The first loses them, says so, and answers callers that wait.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	store := memory.New()
	first := newTestEngine(t, store)
	row, _, err := first.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	require.NoError(t, first.Lost())
	second := newTestEngine(t, store)
	err = first.Executions().Settle(t.Context(), "", row.Name(), journal.Deferred{Name: "gate", Value: abi.Nil})
	require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "%v", err)
	require.Error(t, first.Lost())
	_, err = first.Observer().Wait(t.Context(), "", row.Name())
	require.Equal(t, abi.CodeFenced, abi.CodeOf(err))

	require.NoError(
		t, second.Executions().Settle(t.Context(), "", row.Name(), journal.Deferred{Name: "gate", Value: abi.Nil}),
	)
	over, err := second.Observer().Wait(t.Context(), "", row.Name())
	require.NoError(t, err)
	require.Equal(t, journal.Completed, over.State)
}
