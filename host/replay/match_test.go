package replay_test

import (
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

// TestMatch reads testdata/match. The cases of the file are one guest:
//
//	new            a fresh guest
//	turn           it issues and cancels: `issue 1 activity charge [key=K] [args=X]`, `cancel 1`
//	match          the journal's next turn: `ENTRY-SEQ delivery|attempt NUMBER KIND NAME [key=K] [args=X] [attempts=N] [next=T]`
//	still-waiting  compares with the ops that it waited for before its eviction
//	finished       the verdict about a guest that finished: `early`, `instead`
func TestMatch(t *testing.T) {
	t.Parallel()
	var ops *replay.Ops
	datadriven.RunTest(t, "testdata/match", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "new":
			ops = replay.NewOps()
		case "turn":
			var issued []*op.Op
			var cancelled []uint32
			for _, words := range linesOf(d.Input) {
				if words[0] == "cancel" {
					cancelled = append(cancelled, numberOf(t, words[1]))
					continue
				}
				issued = append(issued, &op.Op{Op: identityOf(t, words[1:])})
			}
			ops.Turn(issued, cancelled)
		case "match":
			due, err := ops.Match(entriesOf(t, d.Input))
			if err != nil {
				return err.Error() + "\n"
			}
			return renderDue(due) + renderPending(ops.Pending())
		case "still-waiting":
			before := map[uint32]*op.Op{}
			for _, words := range linesOf(d.Input) {
				o := &op.Op{Op: identityOf(t, words)}
				before[o.Number] = o
			}
			if err := replay.StillWaiting(before, ops.Pending()); err != nil {
				return err.Error() + "\n"
			}
			return "yes\n"
		case "finished":
			if d.HasArg("early") {
				return replay.FinishedEarly(entriesOf(t, d.Input)[0]).Error() + "\n"
			}
			return replay.FinishedInsteadOfWaiting(ops.Pending()).Error() + "\n"
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
		}
		return renderPending(ops.Pending())
	})
}

func linesOf(input string) [][]string {
	var lines [][]string
	for line := range strings.Lines(input) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func numberOf(t *testing.T, text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	require.NoError(t, err)
	return uint32(n)
}

// identityOf reads NUMBER KIND [NAME] [key=K] [args=X].
func identityOf(t *testing.T, words []string) journal.Op {
	o := journal.Op{Number: numberOf(t, words[0]), Kind: words[1], Hash: []byte("none")}
	for _, word := range words[2:] {
		switch name, value, ok := strings.Cut(word, "="); {
		case !ok:
			o.Name = word
		case name == "key":
			o.Key, o.Hash = value, nil
		case name == "args":
			o.Hash = []byte(value)
		}
	}
	return o
}

func entriesOf(t *testing.T, input string) []journal.Entry {
	var entries []journal.Entry
	for _, words := range linesOf(input) {
		en := journal.Entry{
			Seq: uint64(numberOf(t, words[0])), Kind: journal.EntryKind(words[1]), Op: identityOf(t, words[2:]),
		}
		for _, word := range words[4:] {
			switch name, value, _ := strings.Cut(word, "="); name {
			case "attempts":
				en.Attempts = numberOf(t, value)
				en.Error = abi.Errorf(abi.CodeActivityFailed, "no luck")
			case "next":
				en.NextAt = int64(numberOf(t, value))
			}
		}
		entries = append(entries, en)
	}
	return entries
}

func renderDue(due []journal.Entry) string {
	var out strings.Builder
	for _, en := range due {
		fmt.Fprintf(&out, "deliver entry %d to op %d\n", en.Seq, en.Op.Number)
	}
	return out.String()
}

func renderPending(pending map[uint32]*op.Op) string {
	var out strings.Builder
	out.WriteString("pending:")
	for _, number := range slices.Sorted(maps.Keys(pending)) {
		o := pending[number]
		fmt.Fprintf(&out, " %d", number)
		if o.Attempts > 0 {
			fmt.Fprintf(&out, " (%d attempts, next at %d)", o.Attempts, o.NextAt)
		}
	}
	return out.String() + "\n"
}
