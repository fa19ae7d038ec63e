package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestDecide decides about writes in order. All executions are in shards of
// epoch 1. The argument have lists what the store holds: "a" is an execution, "a/3"
// an entry of it, "a!paid" a settled deferred. Each line of the input is a write:
// an execution, then its parts: start, N (an entry), !NAME (a settlement), update,
// stale (the epoch is over).
func TestDecide(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/decide", func(t *testing.T, d *datadriven.TestData) string {
		snap := newSnapshot()
		for shard := range journal.NumShards {
			snap.fences[journal.Shard(shard)] = journal.Fence{Epoch: 1}
		}
		for _, arg := range d.CmdArgs {
			require.Equal(t, "have", arg.Key)
			for _, val := range arg.Vals {
				snap.hold(t, val)
			}
		}
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			outcome := "takes effect"
			write := parseWrite(t, line)
			switch result := snap.decide(write); {
			case result.Existed:
				outcome = "existed"
			case errors.Is(result.Err, journal.ErrFenced):
				outcome = "fenced"
			case errors.Is(result.Err, journal.ErrNotFound):
				outcome = "not found"
			case result.Err != nil:
				outcome = "duplicate entry"
			default:
				snap.apply(write)
			}
			fmt.Fprintf(&out, "%s: %s\n", line, outcome)
		}
		return out.String()
	})
}

func idOf(key string) journal.ID { return journal.IDOf("default", "bank/Transfer", key) }

func (snap *snapshot) hold(t *testing.T, what string) {
	if key, step, ok := strings.Cut(what, "@"); ok {
		snap.linked[linkKey{idOf(key), journal.StepID{step[0]}}] = true
		return
	}
	if key, name, ok := strings.Cut(what, "!"); ok {
		snap.settled[settlement{idOf(key), name}] = true
		return
	}
	if key, seq, ok := strings.Cut(what, "/"); ok {
		n, err := strconv.ParseUint(seq, 10, 64)
		require.NoError(t, err)
		snap.entries[entryKey{idOf(key), n}] = true
		return
	}
	snap.executions[idOf(what)] = journal.RunID(idOf(what))
}

func parseWrite(t *testing.T, line string) *journal.Write {
	fields := strings.Fields(line)
	require.NotEmpty(t, fields)
	w := &journal.Write{ID: idOf(fields[0]), Run: journal.RunID(idOf(fields[0])), Fence: journal.Fence{Epoch: 1}}
	for _, part := range fields[1:] {
		switch {
		case part == "start":
			w.Start = &journal.Execution{ID: w.ID, Run: w.Run, Key: fields[0]}
		case part == "update":
			w.Update = &journal.Update{State: journal.Running}
		case part == "another-run":
			w.Run[0] ^= 1
		case strings.HasPrefix(part, "@"):
			w.Link = &journal.Link{Step: journal.StepID{part[1]}}
		case part == "interrupt":
			w.Interrupt = &journal.Interrupt{}
		case part == "stale":
			w.Fence.Epoch = 0
		case strings.HasPrefix(part, "!"):
			w.Settle = &journal.Deferred{Name: part[1:]}
		default:
			seq, err := strconv.ParseUint(part, 10, 64)
			require.NoError(t, err, part)
			w.Entries = append(w.Entries, journal.Entry{Seq: seq})
		}
	}
	return w
}
