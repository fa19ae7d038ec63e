package message_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// TestFork reads testdata/fork. Each case is a fork:
//
//	fork [began=(NAME, …)] [whole]
//	NAME=VALUE | NAME timed-out | sleep     the entries that are taken over
//	--
//	NAME=VALUE …                            those behind them
//	--
//	MESSAGE                                 the inbox of the source, as in TestInbox
func TestFork(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/fork", func(t *testing.T, d *datadriven.TestData) string {
		var parts [3]string
		copy(parts[:], strings.Split("\n"+d.Input+"\n", "\n--"))
		f := message.NewFork(names(d, "began"))
		seq, out := uint64(0), &strings.Builder{}
		for line := range strings.Lines(strings.TrimSpace(parts[0])) {
			seq++
			f.Has(entry(seq, strings.TrimSpace(line)))
		}
		for line := range strings.Lines(strings.TrimSpace(parts[1])) {
			seq++
			if f.Later(entry(seq, strings.TrimSpace(line))) {
				fmt.Fprintf(out, "entry %d is kept\n", seq)
			}
		}
		last := uint64(100)
		copies := f.FromJournal(5, func() journal.Origin { last++; return originAt(last) })
		for _, m := range copies {
			fmt.Fprintf(out, "%s=%s at %d, held: %v\n", m.Name, m.Value, m.At, m.Held)
			require.Equal(t, journal.SignalMessage, m.Kind)
			require.Equal(t, len(m.Value), m.Bytes)
			require.False(t, m.Repeatable)
		}
		for _, e := range f.FromInbox(envelopes(t, strings.TrimSpace(parts[2])), d.HasArg("whole")) {
			fmt.Fprintf(out, "message %d, %s\n", e.Position, e.Name)
			copies = append(copies, message.Copy(e.Name, nil, 1, originAt(e.Position)))
		}
		if !f.Complete(copies) {
			out.WriteString("a signal is missing\n")
		}
		if out.Len() == 0 {
			return "nothing\n"
		}
		return out.String()
	})
}

// entry is one of a journal, at ten times its number.
func entry(seq uint64, text string) journal.Entry {
	en := journal.Entry{
		Kind: journal.Delivery, Seq: seq, At: int64(10 * seq), Op: journal.Op{Kind: abi.OpReceive, Number: uint32(seq)},
	}
	name, value, is := strings.Cut(text, "=")
	switch {
	case is:
		en.Op.Name, en.Value = name, []byte(value)
	case text == "sleep":
		en.Op.Kind = abi.OpSleep
	default:
		en.Op.Name, en.Error = strings.Fields(text)[0], abi.Errorf(abi.CodeDeadline, "%s", strconv.Quote(text))
	}
	return en
}
