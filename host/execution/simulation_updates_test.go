package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/publish"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// ownOps is the thread of ops that no thread waits for.
const ownOps = -1

// ask takes in an update.
func (g *threadsGuest) ask(d abi.Delivery) {
	var u abi.UpdateRequest
	if err := abi.Unmarshal(d.Value, &u); err != nil {
		g.world.wrong("%s: op %d was given %x", g.row.Name(), d.Op, d.Value)
	}
	if answer, answered := g.Replies[u.ID]; answered {
		g.world.wrong("%s: update %s was given to it again after %q", g.row.Name(), u.ID, answer)
	}
	g.asked = append(g.asked, u.ID)
}

// reply answers those of the updates that were waiting before this turn, and of the others each second.
func (g *threadsGuest) reply(turn *guest.Turn, waiting []string) {
	for i, id := range slices.Clone(g.asked) {
		if !slices.Contains(waiting, id) && i%2 == len(g.told)%2 {
			continue
		}
		text := fmt.Sprintf("answer %d of %s", len(g.told), g.row.Name())
		g.perform(turn, call{abi.OpAnswer, abi.MustMarshal(&abi.Answer{ID: id, Value: abi.MustMarshal(text)})})
		g.Replies[id] = text
		g.asked = slices.DeleteFunc(g.asked, func(other string) bool { return other == id })
	}
}

// livesTurns is how many turns leave something in the state that those behind them do not replace.
const livesTurns = 10

// show publishes something in most turns.
func (g *threadsGuest) show(turn *guest.Turn) {
	n := len(g.told)
	b := &abi.Publish{}
	if n%3 != 2 {
		b.State = []abi.Published{{Name: "note", Value: abi.MustMarshal(n)}}
	}
	if n%4 == 1 {
		b.Attributes, b.Progress = []abi.Published{{
			Name: "customer", Value: abi.MustMarshal(fmt.Sprint("c", n)),
		}}, &abi.Progress{Done: uint64(n)}
	}
	if n%5 == 4 {
		b.Attributes = []abi.Published{{Name: "customer"}}
	}
	if b.State == nil && b.Attributes == nil || !g.world.publishes {
		return
	}
	b.State = append(b.State, abi.Published{Name: fmt.Sprint("turn", n%livesTurns), Value: abi.MustMarshal(n)})
	g.Shown = publish.Overlaid(g.Shown, b)
	g.perform(turn, call{abi.OpPublish, abi.MustMarshal(b)})
}

// perform issues an op that the run performs itself. Mostly the guest does not wait for it.
func (g *threadsGuest) perform(turn *guest.Turn, c call) {
	g.issueOp(turn, c, ownOps)
	if g.ops%3 > 0 {
		turn.Cancelled = append(turn.Cancelled, g.ops)
		delete(g.owner, g.ops)
	}
}

// sentUpdate is an update of a random life, with what its callers were told.
type sentUpdate struct {
	message.Update
	accepted bool // guarded by the world's mu, like answers
	answers  []string
}

// update sends a new update to a run, or resends an earlier one. Its caller waits concurrently.
func (l *living) update(run *promised, again bool) {
	if !again || len(run.updates) == 0 {
		l.updates++
		u := message.Update{
			Name: "u", Input: abi.MustMarshal(l.updates), Origin: journal.NewOrigin(), Validated: l.updates%3 == 0,
		}
		run.updates = append(run.updates, &sentUpdate{Update: u})
	}
	u := run.updates[len(run.updates)-1]
	if again {
		u = run.updates[len(run.updates)/2]
	}
	go l.callUpdate(request.RefTo(run.row), u)
}

// callUpdate requests an update, and notes the reply.
func (l *living) callUpdate(ref request.Ref, u *sentUpdate) (answer string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	outcome, err := l.f.x.Updates.Update(ctx, ref, u.Update)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		answer = outcomeText(outcome.Value, outcome.Error)
	case abi.CodeOf(err) == abi.CodeUpdateUnanswered:
		answer = string(abi.CodeUpdateUnanswered)
	case strings.Contains(err.Error(), "it was accepted"):
		u.accepted = true
		return ""
	default:
		return string(abi.CodeOf(err))
	}
	u.accepted = true
	u.answers = append(u.answers, answer)
	return answer
}

// verifyUpdates checks the outcomes of the updates of a run: an instance that was given its journal
// knows its answers.
func (l *living) verifyUpdates(run *promised, row *journal.Execution, g *threadsGuest) {
	delivered := map[string]int{}
	for _, en := range l.journal(row) {
		var u abi.UpdateRequest
		if en.Kind == journal.Delivery && en.Op.Kind == abi.OpUpdate && abi.Unmarshal(en.Value, &u) == nil {
			delivered[u.ID]++
		}
	}
	for id, times := range delivered {
		if times > 1 {
			l.wrong("%s: update %s was delivered %d times", row.Name(), id, times)
		}
	}
	for _, u := range run.updates {
		id := message.UpdateID(u.Origin)
		last := l.callUpdate(request.RefTo(run.row), u)
		l.mu.Lock()
		accepted, answers := u.accepted, slices.Compact(slices.Clone(u.answers))
		l.mu.Unlock()
		want := string(abi.CodeUpdateUnanswered)
		if text, ok := g.Replies[id]; ok {
			want = text
			l.answered++
		} else if accepted {
			l.unanswered++
		}
		if ended(row) && last == string(abi.CodeUpdateUnanswered) {
			want = last // the turn that answers it may never have been committed
		}
		if len(answers) > 1 || last != want && (accepted || delivered[id] > 0) {
			l.wrong(
				"%s: update %s was answered %q, last %q, and the journal says %q", row.Name(), id, answers, last, want,
			)
		}
	}
}

// verifyPublished checks that the published values of a run equal those of an instance that was
// given its journal.
func (l *living) verifyPublished(row *journal.Execution, g *threadsGuest) {
	published, err := l.f.store.Published(context.Background(), row.ChainKey())
	if errors.Is(err, journal.ErrNotFound) {
		published, err = &journal.Published{}, nil
	}
	require.NoError(l.f.t, err)
	want, refused, err := l.f.x.shared.publisher.Merged(context.Background(), row, &journal.Published{}, g.Shown)
	require.NoError(l.f.t, err)
	if refused != nil || !publish.Same(want, published) {
		l.wrong(
			"%s has published %q, and the journal says %q", row.Name(), publishedText(published), publishedText(want),
		)
	}
}
