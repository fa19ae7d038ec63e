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

// TestDecide decides about writes in order. All executions are in shards of epoch 1. The argument
// have lists the contents of the store: "a" is an execution, "a/3" an entry of it, "a!paid" a settled
// deferred, "a+3" the message at position 3 that has the origin 3, "a=3" a receipt of that origin,
// "a+full" an inbox without room, and "a+overfull" one without room for messages of others. Each line
// of the input is a write: an execution, then its parts: start, N (an entry), !NAME (a settlement),
// update, stale (of a past epoch), entity (it is one, and is replaced), destroy, +N (a message of
// an origin is received), -N (it is taken), =N (a receipt is left), >a+N (it is sent to another),
// ~N (it is held), continue (as the run that another-run means), publish, lock, unlock.
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
			case errors.Is(result.Err, journal.ErrInboxFull):
				outcome = "full"
			case result.Err != nil:
				outcome = "refused"
			default:
				if sent := len(write.Send); sent > 0 {
					outcome += fmt.Sprintf(", %d of %d sent", len(snap.apply(write).Send), sent)
				} else {
					snap.apply(write)
				}
			}
			fmt.Fprintf(&out, "%s: %s\n", line, outcome)
		}
		return out.String()
	})
}

func idOf(key string) journal.ID { return journal.IDOf("default", "bank/Transfer", key) }

// receiversOf returns the inboxes under an id: the execution's, and the entity's.
func receiversOf(key string) []journal.Receiver {
	return []journal.Receiver{{ID: idOf(key)}, {ID: idOf(key), Chain: journal.RunID(idOf(key))}}
}

func mailOf(t *testing.T, number string) (m journal.Message) {
	n, err := strconv.ParseUint(number, 10, 8)
	require.NoError(t, err)
	m.Kind, m.Origin[0] = journal.SignalMessage, byte(n)
	return m
}

func (snap *snapshot) hold(t *testing.T, what string) {
	if key, found := strings.CutSuffix(what, "+overfull"); found {
		for _, to := range receiversOf(key) {
			snap.mail.tallies[to] = tally{messages: journal.MaxSentInbox}
		}
		return
	}
	if key, found := strings.CutSuffix(what, "+full"); found {
		for _, to := range receiversOf(key) {
			snap.mail.tallies[to] = tally{messages: journal.MaxInbox}
		}
		return
	}
	if key, number, ok := strings.Cut(what, "+"); ok {
		m := mailOf(t, number)
		for _, to := range receiversOf(key) {
			snap.mail.mailed[mailKey{to, m.Origin}] = true
			snap.mail.messages[place{to, uint64(m.Origin[0])}] = message{origin: m.Origin}
		}
		return
	}
	if key, number, ok := strings.Cut(what, "="); ok {
		snap.mail.answered[receiptOf(idOf(key), mailOf(t, number).Origin)] = true
		return
	}
	if key, step, ok := strings.Cut(what, "@"); ok {
		snap.linked[linkKey{journal.RunID(idOf(key)), journal.StepID{step[0]}}] = true
		return
	}
	if key, name, ok := strings.Cut(what, "!"); ok {
		to := journal.SettlementsOf(idOf(key), journal.RunID(idOf(key)))
		snap.mail.mailed[mailKey{to, journal.OriginOfDeferred(name)}] = true
		return
	}
	if key, seq, ok := strings.Cut(what, "/"); ok {
		n, err := strconv.ParseUint(seq, 10, 64)
		require.NoError(t, err)
		snap.entries[entryKey{journal.RunID(idOf(key)), n}] = true
		return
	}
	snap.executions[idOf(what)], snap.chains[idOf(what)] = journal.RunID(idOf(what)), journal.RunID(idOf(what))
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
			w.Chain = w.Run
			w.Run[0] ^= 1
		case strings.HasPrefix(part, "@"):
			w.Link = &journal.Link{Step: journal.StepID{part[1]}}
		case part == "stale":
			w.Fence.Epoch = 0
		case part == "entity":
			w.Run, w.Entity = journal.RunID{}, &journal.Entity{ID: w.ID}
		case part == "destroy":
			w.Run, w.Destroy = journal.RunID{}, true
		case part == "lock":
			w.Run, w.Lock = journal.RunID{}, &journal.Lock{
				Entity: w.ID, Holder: journal.Caller{Step: journal.StepID{1}},
			}
		case part == "unlock":
			w.Run, w.Unlock = journal.RunID{}, true
		case part == "publish":
			w.Publish = &journal.Published{Attributes: []journal.NamedAttribute{{Name: "a"}, {Name: "b"}}}
		case part == "continue":
			w.Continue = &journal.Continuation{Run: w.Run}
			w.Continue.Run[0] ^= 1
		case strings.HasPrefix(part, "~"):
			w.Hold = append(w.Hold, uint64(mailOf(t, part[1:]).Origin[0]))
		case strings.HasPrefix(part, "+"):
			m := mailOf(t, part[1:])
			w.Receive = &m
		case strings.HasPrefix(part, "-"):
			w.Take = append(w.Take, uint64(mailOf(t, part[1:]).Origin[0]))
		case strings.HasPrefix(part, "="):
			w.Receipts = append(w.Receipts, journal.Receipt{Origin: mailOf(t, part[1:]).Origin})
		case strings.HasPrefix(part, ">"):
			to, number, _ := strings.Cut(part[1:], "+")
			sent := journal.Sent{To: idOf(to), Message: mailOf(t, number)}
			if to == fields[0] {
				sent.Chain = w.Run
			}
			w.Send = append(w.Send, sent)
		case strings.HasPrefix(part, "!"):
			w.Receive = (&journal.Deferred{Name: part[1:]}).Message()
		default:
			seq, err := strconv.ParseUint(part, 10, 64)
			require.NoError(t, err, part)
			w.Entries = append(w.Entries, journal.Entry{Seq: seq})
		}
	}
	return w
}
