package replay_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// TestPlayer reads testdata/player. Each case plays a journal on a guest that follows a script, whatever it is told:
//
//	play [moved=SEQ] [waited=(STEP, …)] [later=(STEP, …)] [row=SEQ]
//	SEQ STEP [turn=T] [op=N] | SEQ moved | SEQ failed STEP N       the journal; an entry with ! names the waits of the run
//	--
//	STEP; STEP | cancel OP | done | fails TEXT              the guest, one line a turn
//
// A step is KIND NAME[=ARGUMENT]. Without moved the whole journal was written by other code, and the verdict about it
// is shown. With row, turns without a commit of their own are shown: the row names the waits of the run behind that
// entry, or nothing if it is none.
func TestPlayer(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/player", func(t *testing.T, d *datadriven.TestData) string {
		written, script, _ := strings.Cut(d.Input, "\n--\n")
		entries := writtenEntries(t, strings.Split(written, "\n"))
		moved := ^uint64(0)
		d.MaybeScanArgs(t, "moved", &moved)
		p := replay.NewPlayer(replay.NewReader(func(_ context.Context, after uint64) ([]journal.Entry, bool, error) {
			rest := entries[slices.IndexFunc(
				append(entries, journal.Entry{Seq: ^uint64(0)}), func(en journal.Entry) bool { return en.Seq > after },
			):]
			return rest, false, nil
		}, ^uint64(0)), moved, journal.Waiting{})
		recovers := false
		if row := ""; d.HasArg("row") {
			recovers = true
			d.ScanArgs(t, "row", &row)
			p.Recovers(rowWaiting(t, row))
		}
		g := &scriptedGuest{t: t, lines: strings.Split(script, "\n"), seen: op.Occurrences{}}
		var out strings.Builder
		for {
			issued, cancelled := g.turn()
			p.Turn(issued, cancelled)
			if recovers && !p.HasCommit() {
				fmt.Fprintln(&out, "a turn without a commit")
			}
			due, err := p.Next(t.Context(), g.outcome != nil)
			if err != nil {
				return out.String() + err.Error() + "\n"
			}
			if len(due) == 0 {
				break
			}
			for _, en := range due {
				fmt.Fprintf(
					&out, "op %d %s %q of entry %d at %d\n", en.Op.Number, en.Op.Kind, en.Op.Name, en.Seq, en.At,
				)
			}
		}
		fmt.Fprintf(&out, "waits for:")
		for _, n := range slices.Sorted(maps.Keys(p.Pending())) {
			o := p.Pending()[n]
			fmt.Fprintf(&out, " %s %q", o.Kind, o.Name)
			if o.Attempts > 0 {
				fmt.Fprintf(&out, " (failed %d times)", o.Attempts)
			}
		}
		fmt.Fprintf(&out, "\nheld: %d\n", len(p.Held()))
		if moved == ^uint64(0) {
			before := journal.WaitingFor(9, slices.Collect(maps.Keys(stepsOf(t, d, "waited"))))
			if m := p.Fits(g.outcome, before, stepsOf(t, d, "later"), func(name string) bool {
				return !d.HasArg("gone-" + name)
			}); m != nil {
				fmt.Fprintf(&out, "%s\n", m.For("d/W/k").Error())
			} else {
				fmt.Fprintln(&out, "fits")
			}
		}
		return out.String()
	})
}

// rowWaiting is the testimony of the row: it has seen entries up to one, or is not known to have waited at all.
func rowWaiting(t *testing.T, row string) journal.Waiting {
	if row == "none" {
		return journal.Waiting{}
	}
	seq, err := strconv.ParseUint(row, 10, 64)
	require.NoError(t, err)
	return journal.Waiting{Seq: seq, Steps: journal.StepSum{1}}
}

func newStep(t *testing.T, text string, number uint32) *op.Op {
	kind, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	name, argument, _ := strings.Cut(rest, "=")
	body := map[string]any{
		abi.OpActivity: &abi.Activity{Name: name, Input: abi.MustMarshal(argument)},
		abi.OpDeferred: &abi.Deferred{Name: name},
		abi.OpPatched:  &abi.Patched{ID: name},
		abi.OpSleep:    &abi.Sleep{Name: name, Duration: int64(len(argument))},
	}[kind]
	o, err := op.New(kind, abi.MustMarshal(body), number, 100)
	require.Nil(t, err, text)
	return o
}

func stepsOf(t *testing.T, d *datadriven.TestData, arg string) map[journal.StepID]bool {
	steps := map[journal.StepID]bool{}
	for _, a := range d.CmdArgs {
		if a.Key == arg {
			for _, v := range a.Vals {
				o := newStep(t, strings.ReplaceAll(v, ":", " "), 1)
				op.Occurrences{}.Count(o)
				steps[o.StepID] = true
			}
		}
	}
	return steps
}

func writtenEntries(t *testing.T, lines []string) (entries []journal.Entry) {
	seen := op.Occurrences{}
	for _, line := range lines {
		seqText, text, _ := strings.Cut(line, " ")
		seq, err := strconv.ParseUint(seqText, 10, 64)
		require.NoError(t, err, line)
		en := journal.Entry{Seq: seq, Turn: seq, At: int64(1000 * seq), Kind: journal.Delivery}
		if says, ok := strings.CutSuffix(text, " !"); ok {
			text, en.Waiting = says, &journal.Waiting{Seq: seq}
		}
		if text == "moved" {
			en.Kind, en.Value = journal.Moved, abi.MustMarshal(&journal.Move{})
			entries = append(entries, en)
			continue
		}
		if text, number, ok := strings.Cut(text, " op="); ok {
			n, err := strconv.ParseUint(number, 10, 32)
			require.NoError(t, err, line)
			en.Op = counted(op.Occurrences{}, newStep(t, text, uint32(n)))
			entries = append(entries, en)
			continue
		}
		if text, turn, ok := strings.Cut(text, " turn="); ok {
			en.Turn, err = strconv.ParseUint(turn, 10, 64)
			require.NoError(t, err, line)
			en.Op = counted(seen, newStep(t, text, uint32(seq)))
			entries = append(entries, en)
			continue
		}
		if rest, ok := strings.CutPrefix(text, "failed "); ok {
			en.Kind, en.Attempts = journal.Attempt, 1
			o := newStep(t, rest, uint32(seq))
			op.Occurrences{}.Count(o)
			en.Op = o.Op
			entries = append(entries, en)
			continue
		}
		en.Op = counted(seen, newStep(t, text, uint32(seq)))
		entries = append(entries, en)
	}
	return entries
}

func counted(seen op.Occurrences, o *op.Op) journal.Op {
	seen.Count(o)
	return o.Op
}

// scriptedGuest performs the next line.
type scriptedGuest struct {
	t       *testing.T
	lines   []string
	ops     uint32
	seen    op.Occurrences
	outcome *abi.Outcome
}

func (g *scriptedGuest) turn() (issued []*op.Op, cancelled []uint32) {
	if len(g.lines) == 0 {
		return nil, nil
	}
	for action := range strings.SplitSeq(g.lines[0], ";") {
		switch action = strings.TrimSpace(action); {
		case action == "park":
		case action == "done":
			g.outcome = &abi.Outcome{Value: abi.Nil}
		case strings.HasPrefix(action, "fails "):
			g.outcome = &abi.Outcome{Error: &abi.Error{Message: action[6:]}}
		case strings.HasPrefix(action, "cancel "):
			n, err := strconv.ParseUint(action[7:], 10, 32)
			require.NoError(g.t, err)
			cancelled = append(cancelled, uint32(n))
		default:
			g.ops++
			o := newStep(g.t, action, g.ops)
			g.seen.Count(o)
			issued = append(issued, o)
		}
	}
	g.lines = g.lines[1:]
	return issued, cancelled
}
