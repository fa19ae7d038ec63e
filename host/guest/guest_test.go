package guest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/journal"
)

// compile compiles a program with a runtime of its own.
func compile(t *testing.T, p wasmtest.Program) *wasm.Module {
	t.Helper()
	runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	code, err := runtime.Compile(t.Context(), p.Assemble())
	require.NoError(t, err)
	return code
}

func openGuest(t *testing.T, p wasmtest.Program) *Guest {
	t.Helper()
	g, err := Open(t.Context(), compile(t, p), &journal.Execution{
		ID: journal.ID{1}, Namespace: "default", Workflow: "tiny/W", Key: "k", Input: abi.Nil, CreatedAt: 100,
		Pinned: journal.Pinned{Format: journal.CurrentFormat, Time: 100},
	}, Memory{}, 0)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

func sleepBody(d time.Duration) []byte { return abi.MustMarshal(&abi.Sleep{Duration: int64(d)}) }

func TestTurns(t *testing.T) {
	t.Parallel()
	g := openGuest(t, wasmtest.Program{Calls: []wasmtest.ImportCall{
		{Import: abi.OpSleep, Body: sleepBody(5)},
		{Import: abi.OpDeferred, Body: abi.MustMarshal(&abi.Deferred{Name: "d"})},
	}})
	turn, err := g.Start(t.Context())
	require.NoError(t, err)
	require.Nil(t, turn.Outcome, "it parked")
	require.Len(t, turn.Issued, 2)
	require.Equal(t, abi.OpSleep, turn.Issued[0].Kind)
	require.EqualValues(t, 1, turn.Issued[0].Number)
	require.EqualValues(t, 105, turn.Issued[0].DueAt(), "its clock is the time of the start")
	require.Equal(t, "d", turn.Issued[1].Name)

	turn, err = g.Resume(t.Context(), abi.Resume{Deliveries: []abi.Delivery{{Op: 1, Value: abi.Nil}}, Time: 105})
	require.NoError(t, err)
	require.Empty(t, turn.Issued, "the ops of an earlier turn are not issued again")
	require.Equal(t, abi.Nil, turn.Outcome.Value)
	require.EqualValues(t, 105, g.clock)
}

// TestImmediateCallsAreRefused makes calls that belong in activities. The guest gets an error and
// goes on.
func TestImmediateCallsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{abi.ImportTxExec, abi.ImportTxQuery, abi.ImportHTTP, abi.ImportConfig} {
		_, err := refuseCall(t.Context(), name, nil)
		require.Equal(t, abi.CodeWrongContext, err.Code, name)
		require.Contains(t, err.Hint, "activity", name)
	}
	g := openGuest(t, wasmtest.Program{
		Calls: []wasmtest.ImportCall{{
			Import: abi.ImportTxExec, Body: abi.MustMarshal(&abi.SQL{Query: "DELETE FROM t"}),
		}},
	})
	turn, err := g.Start(t.Context())
	require.NoError(t, err)
	require.Empty(t, turn.Issued)
}

func TestTrap(t *testing.T) {
	t.Parallel()
	runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	code, err := runtime.Compile(t.Context(), wasmtest.Module{Start: wasmtest.Unreachable}.Assemble())
	require.NoError(t, err)
	g, err := Open(
		t.Context(), code,
		&journal.Execution{Workflow: "tiny/W", Pinned: journal.Pinned{Format: journal.CurrentFormat}}, Memory{}, 0,
	)
	require.NoError(t, err)
	defer g.Close()
	_, err = g.Start(t.Context())
	require.True(t, IsTrap(err), "%v", err)
	require.False(t, IsTrap(abi.Errorf(abi.CodeStore, "no connection")))
}

// TestLimits fills a guest that has no instance: its requests are only counted.
func TestLimits(t *testing.T) {
	t.Parallel()
	g := &Guest{open: map[uint32]int{}, seen: op.Occurrences{}, openBytes: maxOpenBytes - 1}
	_, err := g.issue(abi.OpSleep, sleepBody(1))
	require.Equal(t, abi.CodeTooManyOps, err.Code)
	require.Zero(t, g.ops, "what is refused has no number")

	for range 2000 {
		g.keepLog(abi.LogInfo, make([]byte, 1000))
	}
	require.Less(t, len(g.turn.Log), 300, "the log is cut")
}

// TestOpsOfATurn: a turn may issue so many ops, besides one interrupted, which SDKs issue on their own. In runs of
// older formats that one counted.
func TestOpsOfATurn(t *testing.T) {
	t.Parallel()
	for format := uint32(1); format <= journal.CurrentFormat; format++ {
		g := &Guest{format: format, open: map[uint32]int{}, seen: op.Occurrences{}}
		for range 2 { // turns
			g.beginTurn()
			issued := func(kind string, body []byte) bool {
				number, err := g.issue(kind, body)
				require.True(t, err == nil || err.Code == abi.CodeTooManyOps, "%v", err)
				g.cancel(number)
				return err == nil
			}
			steps := func() (n int) {
				for issued(abi.OpSleep, sleepBody(1)) {
					n++
				}
				return n
			}
			_, err := g.issue(abi.OpInterrupted, []byte("garbage"))
			require.Equal(t, abi.CodeBadBody, err.Code)
			require.True(t, issued(abi.OpInterrupted, abi.MustMarshal(&abi.Interrupted{})))
			if format <= 2 {
				require.Equal(t, abi.MaxOpsPerTurn-1, steps(), "format %d", format)
			} else {
				require.Equal(t, abi.MaxOpsPerTurn, steps(), "format %d", format)
			}
			require.False(t, issued(abi.OpInterrupted, abi.MustMarshal(&abi.Interrupted{})), "a second one counts")

			g.beginTurn()
			require.Equal(t, abi.MaxOpsPerTurn, steps())
			require.Equal(
				t, format > 2, issued(abi.OpInterrupted, abi.MustMarshal(&abi.Interrupted{})),
				"wherever it is in the turn",
			)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	g := &Guest{open: map[uint32]int{}, seen: op.Occurrences{}}
	number, err := g.issue(abi.OpSleep, sleepBody(1))
	require.Nil(t, err)
	g.cancel(number)
	g.cancel(number)
	g.cancel(99)
	require.Equal(t, []uint32{number}, g.turn.Cancelled, "once, and only what is open")
	require.Zero(t, g.openBytes)
}

// TestFormats refuses journals of a format that this version does not know, without running anything.
func TestFormats(t *testing.T) {
	t.Parallel()
	code := compile(t, wasmtest.Program{})
	for _, format := range []uint32{0, journal.CurrentFormat + 1} {
		_, err := Open(
			t.Context(), code, &journal.Execution{Workflow: "tiny/W", Pinned: journal.Pinned{Format: format}}, Memory{},
			0,
		)
		require.Equal(t, abi.CodeJournalFormat, abi.CodeOf(err), "format %d: %v", format, err)
	}
}

// TestOccurrences names ops by their content and by the number of equal ops before.
func TestOccurrences(t *testing.T) {
	t.Parallel()
	g := &Guest{open: map[uint32]int{}, seen: op.Occurrences{}}
	for _, d := range []time.Duration{1, 2, 1, 1} {
		_, err := g.issue(abi.OpSleep, sleepBody(d))
		require.Nil(t, err)
	}
	var occurrences []uint32
	steps := map[journal.StepID]bool{}
	for _, o := range g.turn.Issued {
		occurrences = append(occurrences, o.Occurrence)
		steps[o.StepID] = true
		require.Equal(t, o.StepID, o.Op.Step())
	}
	require.Equal(t, []uint32{1, 1, 2, 3}, occurrences)
	require.Len(t, steps, 4)
}

// TestGrowthIsTakenOutOfThePermit: the growth of an instance beyond its initial memory counts
// against the memory of the host. If there is none, that is not the guest's fault; whether there
// could be any is told.
func TestGrowthIsTakenOutOfThePermit(t *testing.T) {
	t.Parallel()
	const pages, page = 3, 64 << 10
	runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	code, err := runtime.Compile(t.Context(), wasmtest.Module{
		Start: wasmtest.Join(wasmtest.I32Const(pages), []byte{0x40, 0, 0x1a}, wasmtest.I32Const(abi.StatusParked)),
	}.Assemble())
	require.NoError(t, err)
	for _, c := range []struct {
		room, others int64
		want         abi.Code
	}{
		{pages * page, 0, ""},
		{pages * page, 1, abi.CodeOverloaded},
		{pages*page - 1, 0, abi.CodeGuestMemory},
	} {
		want, b := c.want, budget.New(code.MemoryBytes()+c.room)
		require.True(t, b.Empty().Grow(c.others))
		memory, err := b.Acquire(t.Context(), code.MemoryBytes())
		require.NoError(t, err)
		g, err := Open(t.Context(), code, &journal.Execution{
			Workflow: "tiny/W", Input: abi.Nil, Pinned: journal.Pinned{Format: journal.CurrentFormat},
		}, Memory{Instance: memory}, 0)
		require.NoError(t, err)
		_, err = g.Start(t.Context())
		require.Equal(t, want, abi.CodeOf(err), "%v", err)
		require.False(t, IsTrap(err))
		if want == "" {
			require.Equal(t, code.MemoryBytes()+pages*page, memory.Bytes())
		}
		g.Close()
	}
}

// TestFuel counts the fuel of each turn, and their sum. A guest that needs more than the limit is
// stopped.
func TestFuel(t *testing.T) {
	t.Parallel()
	run := func() (turns []Turn) {
		g := openGuest(t, wasmtest.Program{Calls: []wasmtest.ImportCall{{Import: abi.OpSleep, Body: sleepBody(5)}}})
		first, err := g.Start(t.Context())
		require.NoError(t, err)
		second, err := g.Resume(t.Context(), abi.Resume{Deliveries: []abi.Delivery{{Op: 1, Value: abi.Nil}}, Time: 105})
		require.NoError(t, err)
		return []Turn{first, second}
	}
	turns, again := run(), run()
	require.Positive(t, turns[0].Fuel)
	require.Positive(t, turns[1].Fuel)
	require.Equal(t, turns[0].Fuel+turns[1].Fuel, turns[1].FuelSoFar)
	for n := range turns {
		require.Equal(t, turns[n].Fuel, again[n].Fuel)
	}

	endless := wasmtest.Module{Start: wasmtest.Join(wasmtest.Endless, wasmtest.I32Const(1))}.Assemble()
	runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	code, err := runtime.Compile(t.Context(), endless)
	require.NoError(t, err)
	g, err := Open(
		t.Context(), code,
		&journal.Execution{Workflow: "tiny/W", Pinned: journal.Pinned{Format: journal.CurrentFormat}}, Memory{}, 1000,
	)
	require.NoError(t, err)
	defer g.Close()
	turn, err := g.Start(t.Context())
	require.True(t, IsTrap(err), "%v", err)
	require.Equal(t, abi.CodeGuestTimeout, abi.CodeOf(err))
	require.Greater(t, turn.Fuel, int64(1000))
}
