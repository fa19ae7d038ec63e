package host

import (
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// finish opens the gate of an execution, and returns its row once it has ended.
func finish(t *testing.T, e *Engine, name string) *journal.Execution {
	t.Helper()
	require.NoError(t, e.Executions().Settle(t.Context(), "", name, journal.Deferred{Name: "gate", Value: abi.Nil}))
	row, err := e.Observer().Wait(t.Context(), "", name)
	require.NoError(t, err)
	require.Equal(t, journal.Completed, row.State)
	return row
}

func tinyStart(p IfFinished, requestID string) StartRequest {
	return StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw, IfFinished: p, RequestID: requestID}
}

func TestStartOfAFinishedKey(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	first, _, err := e.Launcher().Start(t.Context(), tinyStart(abi.RefuseFinished, ""))
	require.NoError(t, err)
	for _, p := range []IfFinished{"", abi.RestartFinished, abi.RestartFailed, abi.RefuseFinished} {
		row, existed, err := e.Launcher().Start(t.Context(), tinyStart(p, ""))
		require.NoError(t, err, "it is not over")
		require.True(t, existed)
		require.Equal(t, first.Run, row.Run)
	}
	finish(t, e, first.Name())
	for _, p := range []IfFinished{"", abi.ReturnFinished, abi.RestartFailed} {
		row, existed, err := e.Launcher().Start(t.Context(), tinyStart(p, ""))
		require.NoError(t, err)
		require.True(t, existed)
		require.Equal(t, journal.Completed, row.State)
	}
	_, _, err = e.Launcher().Start(t.Context(), tinyStart(abi.RefuseFinished, ""))
	require.Equal(t, abi.CodeFinishedBefore, abi.CodeOf(err))
	_, _, err = e.Launcher().Start(t.Context(), tinyStart("again", ""))
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err))

	second, existed, err := e.Launcher().Start(t.Context(), tinyStart(abi.RestartFinished, ""))
	require.NoError(t, err)
	require.False(t, existed)
	require.NotEqual(t, first.Run, second.Run)

	// The name is the newest run's; by their ids both are there.
	row, err := e.Observer().Poll(t.Context(), "", first.Name())
	require.NoError(t, err)
	require.Equal(t, second.Run, row.Run)
	for run, state := range map[journal.RunID]journal.State{first.Run: journal.Completed, second.Run: journal.Running} {
		row, err := e.Observer().PollRun(t.Context(), "", first.Name(), run.String())
		require.NoError(t, err)
		require.Equal(t, state, row.State)
	}
	over, err := e.Observer().WaitRun(t.Context(), "", first.Name(), first.Run.String(), 0)
	require.NoError(t, err)
	require.Equal(t, first.Run, over.Run)
	entries, _, err := e.Observer().HistoryRun(t.Context(), "", first.Name(), first.Run.String(), 0, 10)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	d, err := e.Observer().Describe(t.Context(), "", first.Name())
	require.NoError(t, err)
	require.Zero(t, d.Entries)
	require.Len(t, d.Earlier, 1)
	require.Equal(t, first.Run, d.Earlier[0].Run)
	d, err = e.Observer().DescribeRun(t.Context(), "", first.Name(), first.Run.String())
	require.NoError(t, err)
	require.Len(t, d.Deferreds, 1)
	for run, code := range map[string]abi.Code{
		"00": abi.CodeBadRequest, "x": abi.CodeBadRequest, journal.NewRunID().String(): abi.CodeExecutionNotFound,
	} {
		_, err := e.Observer().PollRun(t.Context(), "", first.Name(), run)
		require.Equal(t, code, abi.CodeOf(err), run)
	}
}

// TestRepeatedRestart repeats a start whose answer was lost: it starts one run, also once that has
// ended, and once another one has taken its place.
func TestRepeatedRestart(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	start := func(request string) *journal.Execution {
		row, _, err := e.Launcher().Start(t.Context(), tinyStart(abi.RestartFinished, request))
		require.NoError(t, err)
		return row
	}
	first := start("one")
	require.Equal(t, first.Run, start("one").Run)
	finish(t, e, first.Name())
	require.Equal(t, first.Run, start("one").Run, "it is what this request has started")
	row, _, err := e.Launcher().Start(t.Context(), tinyStart(abi.RefuseFinished, "one"))
	require.NoError(t, err, "as here")
	require.Equal(t, first.Run, row.Run)

	second := start("two")
	require.NotEqual(t, first.Run, second.Run)
	finish(t, e, first.Name())
	require.Equal(t, first.Run, start("one").Run)
	require.Equal(t, second.Run, start("two").Run)

	// Also while a run of another request is under way, and if the newest is gone.
	running := start("running")
	require.Equal(t, first.Run, start("one").Run)
	row, _, err = e.Launcher().Start(t.Context(), tinyStart(abi.RestartFailed, "two"))
	require.NoError(t, err)
	require.Equal(t, second.Run, row.Run)
	finish(t, e, first.Name())
	require.Equal(
		t, abi.CodeBadRequest,
		abi.CodeOf(e.Maintenance().Delete(t.Context(), "", first.Name(), hex.EncodeToString(running.Run[:]))),
		"the earlier runs would be lost",
	)
	d, err := e.Observer().Describe(t.Context(), "", first.Name())
	require.NoError(t, err)
	require.Len(t, d.Earlier, 2)

	third, existed, err := e.Launcher().Restart(t.Context(), "", first.Name(), RestartRequest{RequestID: "three"})
	require.NoError(t, err)
	require.False(t, existed)
	again, existed, err := e.Launcher().Restart(t.Context(), "", first.Name(), RestartRequest{RequestID: "three"})
	require.NoError(t, err)
	require.True(t, existed)
	require.Equal(t, third.Run, again.Run)
	d, err = e.Observer().Describe(t.Context(), "", first.Name())
	require.NoError(t, err)
	require.Len(t, d.Earlier, 3)
}

// TestRestartsAtOnce has clients restart an execution at the same time: one starts, and all the
// others get that run.
func TestRestartsAtOnce(t *testing.T) {
	t.Parallel()
	const clients = 8
	var meet sync.WaitGroup // of all that have seen the finished run
	meet.Add(clients)
	e := newTestEngine(t, memory.New(), func(c *Config) {
		undertest.Of(&c.UnderTest).FaultPoint = func(point string) {
			if point == faultpoint.RestartBeforeCommit {
				meet.Done()
				meet.Wait()
			}
		}
	})
	first, _, err := e.Launcher().Start(t.Context(), tinyStart("", ""))
	require.NoError(t, err)
	finish(t, e, first.Name())
	rows, existed := make([]*journal.Execution, clients), make([]bool, clients)
	var group errgroup.Group
	for i := range clients {
		group.Go(func() (err error) {
			if i%2 == 0 {
				rows[i], existed[i], err = e.Launcher().Restart(t.Context(), "", first.Name(), RestartRequest{})
			} else {
				rows[i], existed[i], err = e.Launcher().Start(t.Context(), tinyStart(abi.RestartFinished, ""))
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	started := 0
	for i := range rows {
		require.Equal(t, rows[0].Run, rows[i].Run)
		if !existed[i] {
			started++
		}
	}
	require.Equal(t, 1, started)
	_, _, err = e.Launcher().Restart(t.Context(), "", first.Name(), RestartRequest{})
	require.Equal(t, abi.CodeNotOver, abi.CodeOf(err), "it runs")
}

func TestRestartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	first, _, err := e.Launcher().Start(t.Context(), StartRequest{
		Workflow: "tiny/W", Input: abi.MustMarshal("in"), Key: "a", KeyMode: abi.KeyRaw,
	})
	require.NoError(t, err)
	finish(t, e, first.Name())
	for name, c := range map[string]struct {
		of   string
		req  RestartRequest
		code abi.Code
	}{
		"a missing one": {"tiny/W/b", RestartRequest{}, abi.CodeExecutionNotFound},
		"no module":     {first.Name(), RestartRequest{To: "0123"}, abi.CodeModuleNotFound},
		"a bad input":   {first.Name(), RestartRequest{Input: []byte{0xc1}}, abi.CodeBadInput},
		"a bad id":      {first.Name(), RestartRequest{RequestID: "\x00"}, abi.CodeBadRequest},
	} {
		_, _, err := e.Launcher().Restart(t.Context(), "", c.of, c.req)
		require.Equal(t, c.code, abi.CodeOf(err), "%s: %v", name, err)
	}
	second, _, err := e.Launcher().Restart(t.Context(), "", first.Name(), RestartRequest{})
	require.NoError(t, err)
	require.Equal(t, first.Input, second.Input)
	require.Equal(t, "a", second.Key)
	finish(t, e, first.Name())
	third, _, err := e.Launcher().Restart(t.Context(), "", first.Name(), RestartRequest{
		Input: abi.MustMarshal("other"), To: first.Digest,
	})
	require.NoError(t, err)
	require.Equal(t, abi.MustMarshal("other"), third.Input)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	first, _, err := e.Launcher().Start(t.Context(), tinyStart("", ""))
	require.NoError(t, err)
	name := first.Name()
	require.Equal(t, abi.CodeNotOver, abi.CodeOf(e.Maintenance().Delete(t.Context(), "", name, "")))
	finish(t, e, name)
	runs := []*journal.Execution{first}
	for range 2 {
		row, _, err := e.Launcher().Restart(t.Context(), "", name, RestartRequest{})
		require.NoError(t, err)
		runs = append(runs, finish(t, e, row.Name()))
	}
	require.NoError(t, e.Maintenance().Delete(t.Context(), "", name, runs[0].Run.String()))
	d, err := e.Observer().Describe(t.Context(), "", name)
	require.NoError(t, err)
	require.Len(t, d.Earlier, 1, "the others stay")
	require.NoError(t, e.Maintenance().Delete(t.Context(), "", name, ""))
	for _, row := range runs {
		_, err := e.Observer().PollRun(t.Context(), "", name, row.Run.String())
		require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err))
	}
	require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(e.Maintenance().Delete(t.Context(), "", name, "")))

	again, existed, err := e.Launcher().Start(t.Context(), tinyStart("", ""))
	require.NoError(t, err)
	require.False(t, existed)
	finish(t, e, again.Name())
}

// TestRetentionOfEarlierRuns has retention delete earlier runs by the time of their own end.
func TestRetentionOfEarlierRuns(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	first, _, err := e.Launcher().Start(t.Context(), tinyStart("", ""))
	require.NoError(t, err)
	finish(t, e, first.Name())
	_, _, err = e.Launcher().Restart(t.Context(), "", first.Name(), RestartRequest{})
	require.NoError(t, err)
	n, err := e.writer.Sweep(t.Context(), time.Now().Add(time.Hour).UnixNano(), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = e.Observer().PollRun(t.Context(), "", first.Name(), first.Run.String())
	require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err))
	row, err := e.Observer().Poll(t.Context(), "", first.Name())
	require.NoError(t, err)
	require.Equal(t, journal.Running, row.State)
}

// TestSignalWithStartOver has a signal start a new run of a finished execution, once.
func TestSignalWithStartOver(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	_, err := e.Deployments().Push(t.Context(), PushRequest{Name: "told", Binary: wasmtest.Program{
		Manifest: &abi.Manifest{
			Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest, Signals: []abi.SignalInfo{{Name: "s"}}}},
		},
		Calls: []wasmtest.ImportCall{{Import: abi.OpDeferred, Body: abi.MustMarshal(&abi.Deferred{Name: "gate"})}},
	}.Assemble()})
	require.NoError(t, err)
	send := func(p IfFinished, request string) (*journal.Execution, bool, error) {
		return e.Launcher().SignalWithStart(
			t.Context(), StartRequest{Workflow: "told/W", Key: "a", KeyMode: abi.KeyRaw, IfFinished: p},
			SignalRequest{Name: "s", Value: abi.Nil, RequestID: request},
		)
	}
	first, existed, err := send(abi.RestartFinished, "one")
	require.NoError(t, err)
	require.False(t, existed)
	_, existed, err = send(abi.RestartFinished, "two")
	require.NoError(t, err)
	require.True(t, existed, "it runs, and is sent the signal")
	finish(t, e, first.Name())
	_, _, err = send(abi.ReturnFinished, "three")
	require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(err))
	_, _, err = send(abi.RefuseFinished, "three")
	require.Equal(t, abi.CodeFinishedBefore, abi.CodeOf(err))
	for _, repeated := range []string{"one", "two"} {
		row, existed, err := send(abi.RestartFinished, repeated)
		require.NoError(t, err)
		require.True(t, existed, "its signal was received before")
		require.Equal(t, first.Run, row.Run)
	}
	second, existed, err := send(abi.RestartFinished, "three")
	require.NoError(t, err)
	require.False(t, existed)
	require.NotEqual(t, first.Run, second.Run)
	d, err := e.Observer().Describe(t.Context(), "", second.Name())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"s": 1}, d.Unread)
	d, err = e.Observer().DescribeRun(t.Context(), "", second.Name(), first.Run.String())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"s": 2}, d.Unread)
}

// An execution that is started over while it is deleted is not reported as deleted: its new run is there.
func TestDeleteWhileStartedOver(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]bool{"the execution": false, "its run": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e *Engine
			var row *journal.Execution
			restart := sync.OnceFunc(func() {
				_, _, err := e.Launcher().Restart(t.Context(), "", row.Name(), RestartRequest{})
				require.NoError(t, err)
			})
			e = newTestEngine(t, memory.New(), func(c *Config) {
				undertest.Of(&c.UnderTest).FaultPoint = func(point string) {
					if point == faultpoint.DeleteBeforeCommit {
						restart()
					}
				}
			})
			var err error
			row, _, err = e.Launcher().Start(t.Context(), tinyStart("", ""))
			require.NoError(t, err)
			finish(t, e, row.Name())
			named := ""
			if run {
				named = row.Run.String()
			}
			err = e.Maintenance().Delete(t.Context(), "", row.Name(), named)
			_, gone := e.Observer().PollRun(t.Context(), "", row.Name(), row.Run.String())
			if run {
				require.NoError(t, err)
				require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(gone))
			} else {
				require.Equal(t, abi.CodeNotOver, abi.CodeOf(err))
				require.NoError(t, gone, "nothing was deleted")
			}
			next, err := e.Observer().Poll(t.Context(), "", row.Name())
			require.NoError(t, err)
			require.NotEqual(t, row.Run, next.Run)
		})
	}
}
