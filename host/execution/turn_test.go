package execution

import (
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// setLength has the journal of a run have so many entries.
func setLength(r *run, entries uint64) {
	r.ledger.With(func(l *ledger.Ledger) { l.MoveBehind(replay.Position{Seq: entries - 1}, 0) })
}

// TestTooLongAJournal pauses an execution whose journal has reached its limit. The pending
// deliveries are journaled with the pause.
func TestTooLongAJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done never"}
		row := rowOf("w", "k")
		r := newRun(f.x.shared, row.ID)
		_, err := f.x.Starter.commitStart(t.Context(), journal.Write{ID: row.ID, Run: row.Run, Start: row})
		require.NoError(t, err)
		r.Receive([]notice{started{row: row}})
		setLength(r, abi.MaxEntries)
		r.Receive([]notice{f.settled(t, r, journal.Deferred{Name: "d", Value: abi.Nil, At: 1})})
		require.Equal(t, journal.Paused, r.row.State)
		require.Equal(t, abi.CodeExecutionTooLong, r.row.Error.Code)
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 10})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		r.instance.Drop()
	})
}

// TestRoomToStop: an execution that is paused at the limit of its journal cleans up and ends when it is
// asked to stop, and it is warned before. Its room is bounded.
func TestRoomToStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at    uint64
		state journal.State
	}{
		"at the limit":    {abi.MaxEntries, journal.Interrupted},
		"within the room": {abi.MaxEntries + roomToStop - 3, journal.Interrupted},
		"beyond":          {abi.MaxEntries + roomToStop - 1, journal.Paused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.scripts["w"] = []string{"interrupted ; deferred d", "deferred e", "stop"}
				row := rowOf("w", "k")
				_, err := f.x.Starter.commitStart(t.Context(), journal.Write{ID: row.ID, Run: row.Run, Start: row})
				require.NoError(t, err)
				ref := request.Ref{ID: row.ID, Name: row.Name()}
				r := newRun(f.x.shared, row.ID)
				r.Receive([]notice{started{row: row}})
				setLength(r, c.at)
				settle := func(name string) {
					again := r.Receive([]notice{f.settled(t, r, journal.Deferred{Name: name, Value: abi.Nil, At: 1})})
					for len(again) > 0 {
						again = r.Receive(again)
					}
				}
				settle("d")
				require.Equal(t, journal.Paused, r.row.State, "a request to stop has not come yet")
				r.instance.Drop()
				require.NoError(t, f.x.Operator.ResumeToStop(t.Context(), ref, "enough"))
				synctest.Wait()
				ended, err := f.store.Load(t.Context(), row.ID)
				require.NoError(t, err)
				require.Equal(t, c.state, ended.State, "%v", ended.Error)
			})
		})
	}
}

func TestWarningOfALongJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred a", "deferred b", "deferred c", "done"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.commitStart(t.Context(), journal.Write{ID: row.ID, Run: row.Run, Start: row})
		require.NoError(t, err)
		r := newRun(f.x.shared, row.ID)
		r.Receive([]notice{started{row: row}})
		setLength(r, 199_998)
		reg := prometheus.NewPedanticRegistry()
		reg.MustRegister(f.x.shared.metrics.long)
		var counted []float64
		for _, name := range []string{"a", "b", "c"} {
			r.Receive([]notice{f.settled(t, r, journal.Deferred{Name: name, Value: abi.Nil, At: 1})})
			families, err := reg.Gather()
			require.NoError(t, err)
			counted = append(counted, families[0].GetMetric()[0].GetCounter().GetValue())
		}
		require.Equal(t, []float64{0, 1, 1}, counted, "each is warned of once")
		r.instance.Drop()
	})
}
