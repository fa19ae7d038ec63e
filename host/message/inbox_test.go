package message_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// TestInbox reads testdata/inbox. The cases of the file are one inbox; `new` begins another.
//
//	new                      with the stored messages, a MESSAGE a line
//	arrive                   a MESSAGE a line
//	take QUEUE               an op is given the first of a queue
//	turn [awaits=(NAME, …)] [over] [unread=(NAME, …)] [answers=(POSITION, …)]
//	                         a turn that is delivered a MESSAGE a line; its writes, and the
//	                         inbox after it
//
// A MESSAGE is POSITION signal|update NAME [held] [repeatable]. The queue of updates is called
// updates.
func TestInbox(t *testing.T) {
	t.Parallel()
	inbox := message.NewInbox(nil)
	datadriven.RunTest(t, "testdata/inbox", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "new":
			inbox = message.NewInbox(envelopes(t, d.Input))
		case "arrive":
			for _, e := range envelopes(t, d.Input) {
				inbox.Add(e)
			}
		case "take":
			e, ok := inbox.Take(strings.TrimPrefix(d.CmdArgs[0].Key, "updates"))
			if !ok {
				return "none\n"
			}
			return fmt.Sprintf("%d %s %s\n", e.Position, e.Kind, e.Name)
		case "turn":
			return turnOf(t, d, inbox)
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
		}
		return render(inbox)
	})
}

func envelopes(t require.TestingT, lines string) (all []journal.Envelope) {
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		position, err := strconv.ParseUint(words[0], 10, 8)
		require.NoError(t, err, line)
		e := journal.Envelope{
			Position:   position,
			Origin:     originAt(position),
			Kind:       journal.MessageKind(words[1]),
			Name:       words[2],
			Repeatable: words[1] == "update",
		}
		for _, word := range words[3:] {
			switch word {
			case "held":
				e.Held = true
			case "repeatable":
				e.Repeatable = true
			default:
				require.Fail(t, "unknown word", line)
			}
		}
		all = append(all, e)
	}
	return all
}

// originAt is the origin of the message at a position.
func originAt(position uint64) journal.Origin { return journal.Origin{15: byte(position)} }

func names(d *datadriven.TestData, arg string) (of []string) {
	for _, a := range d.CmdArgs {
		if a.Key == arg {
			of = append(of, a.Vals...)
		}
	}
	return of
}

func turnOf(t *testing.T, d *datadriven.TestData, inbox *message.Inbox) string {
	turn := message.Turn{Delivered: envelopes(t, d.Input), Over: d.HasArg("over"), Unread: names(d, "unread")}
	for _, text := range names(d, "answers") {
		position, err := strconv.ParseUint(text, 10, 8)
		require.NoError(t, err)
		id := message.UpdateID(originAt(position))
		if update, there := inbox.Asked(id, turn.Delivered); there {
			turn.Answers.Give(update, &abi.Answer{ID: id, Value: abi.Nil})
		}
	}
	f := inbox.After(turn, func(name string) bool {
		for _, awaited := range names(d, "awaits") {
			if awaited == name {
				return true
			}
		}
		return false
	})
	w := writeOf(turn, &f)
	out := &strings.Builder{}
	fmt.Fprintf(out, "holds %v, takes %v, receipts of", w.Hold, w.Take)
	for _, r := range w.Receipts {
		fmt.Fprintf(out, " %d", r.Origin[15])
	}
	fmt.Fprintf(out, "\nperhaps not looked at: %v; writes: %v\n", f.Unread, f.Writes() || len(turn.Answers) > 0)
	inbox.Apply(f)
	return out.String() + render(inbox)
}

// writeOf is the write of a turn, as a run makes it.
func writeOf(turn message.Turn, f *message.Fate) (w journal.Write) {
	for _, e := range turn.Delivered {
		w.Hold = append(w.Hold, e.Position)
	}
	f.Write(&w, 1)
	turn.Answers.Write(&w, 1)
	return w
}

// render shows which messages of the tests' names wait, and which updates have no answer.
func render(inbox *message.Inbox) string {
	var out strings.Builder
	for _, queue := range []string{"a", "b", "c", ""} {
		var taken []journal.Envelope
		for e, ok := inbox.Take(queue); ok; e, ok = inbox.Take(queue) {
			taken = append(taken, e)
			if len(taken) == 1 {
				fmt.Fprintf(&out, "%s:", strings.Replace("["+queue+"]", "[]", "[updates]", 1))
			}
			fmt.Fprintf(&out, " %d", e.Position)
		}
		if len(taken) > 0 {
			out.WriteString(" wait\n")
		}
		for _, e := range taken {
			inbox.Add(e)
		}
	}
	for position := range uint64(256) {
		if _, there := inbox.Unanswered()[message.UpdateID(originAt(position))]; there {
			fmt.Fprintf(&out, "%d has no answer\n", position)
		}
	}
	if held := inbox.After(message.Turn{}, func(string) bool { return false }); len(held.Unread) > 0 {
		fmt.Fprintf(&out, "held: %v\n", held.Unread)
	}
	if out.Len() == 0 {
		return "empty\n"
	}
	return out.String()
}

// TestSignalsAreKeptUntilLookedAt has a run live through random turns, and checks its inbox against
// the rows that its writes leave in the store: a signal is there until the workflow has looked at
// it, and an inbox that is made of the rows anew knows the same.
func TestSignalsAreKeptUntilLookedAt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &signals{inbox: message.NewInbox(nil), rows: map[uint64]journal.Envelope{}, seen: map[uint64]bool{}}
		rt.Repeat(map[string]func(*rapid.T){"": m.check, "arrive": m.arrive, "turn": m.turn})
	})
}

// signals is an inbox with the state of a store and a guest.
type signals struct {
	inbox *message.Inbox
	rows  map[uint64]journal.Envelope
	last  uint64
	in    []journal.Envelope // in the guest, not looked at
	seen  map[uint64]bool    // looked at
}

func (m *signals) arrive(rt *rapid.T) {
	m.last++
	e := journal.Envelope{
		Position:   m.last,
		Kind:       journal.SignalMessage,
		Name:       rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "name"),
		Origin:     originAt(m.last),
		Repeatable: rapid.Bool().Draw(rt, "repeatable"),
	}
	m.rows[e.Position] = e
	m.inbox.Add(e)
}

// turn delivers signals to some ops. A guest waits for a signal of a name only if it has looked at
// all of that name that it was given.
func (m *signals) turn(rt *rapid.T) {
	var turn message.Turn
	for _, name := range []string{"a", "b", "c"} {
		if !rapid.Bool().Draw(rt, "delivers "+name) {
			continue
		}
		if e, ok := m.inbox.Take(name); ok {
			m.lookAt(name) // it had asked for the next
			turn.Delivered, m.in = append(turn.Delivered, e), append(m.in, e)
		}
	}
	awaits := map[string]bool{}
	for _, name := range []string{"a", "b", "c"} {
		if awaits[name] = rapid.Bool().Draw(rt, "asks for "+name); awaits[name] {
			m.lookAt(name)
		}
	}
	f := m.inbox.After(turn, func(name string) bool { return awaits[name] })
	w := writeOf(turn, &f)
	for _, position := range w.Hold {
		e := m.rows[position]
		e.Held = true
		m.rows[position] = e
	}
	receipts := 0
	for _, position := range w.Take {
		require.Contains(rt, m.rows, position, "it is taken twice")
		require.True(rt, m.seen[position], "%d is taken, and the workflow has not looked at it", position)
		if m.rows[position].Repeatable {
			receipts++
		}
		delete(m.rows, position)
	}
	require.Len(rt, w.Receipts, receipts)
	m.inbox.Apply(f)
}

func (m *signals) lookAt(name string) {
	var left []journal.Envelope
	for _, e := range m.in {
		if e.Name == name {
			m.seen[e.Position] = true
		} else {
			left = append(left, e)
		}
	}
	m.in = left
}

func (m *signals) check(rt *rapid.T) {
	var stored []journal.Envelope
	for position := uint64(1); position <= m.last; position++ {
		e, there := m.rows[position]
		require.Equal(rt, !m.seen[position], there, "signal %d", position)
		if there {
			stored = append(stored, e)
		}
	}
	require.Equal(rt, render(m.inbox), render(message.NewInbox(stored)))
}
