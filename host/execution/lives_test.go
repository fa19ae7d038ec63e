package execution

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

func isUndecided(err error) bool { return errors.Is(err, journal.ErrUndecided) }

// TestRandomLives has executions live random lives: their code, what becomes of their
// activities, and what happens to them and to their host are drawn from a seed. Time is
// virtual. Whatever happens, in the end
//
//   - each comes to its end once nothing is in its way any more;
//   - the sequence numbers of its journal ascend, and each step is delivered at most
//     once;
//   - a fresh instance that is given the journal does what the execution did, to the
//     same result, and no instance was ever told anything else, but in its last turn,
//     if that was never committed;
//   - what was acknowledged is there: starts, settlements, interrupts, moves, forks;
//   - each signal that was acknowledged is in the inbox or was delivered, none was
//     delivered twice, and those of one name are in the order in which they were sent;
//   - a run that has the name of an earlier one knows nothing of it.
//
// CRUSTER_LIVES is how many lives there are, CRUSTER_SEED the seed of the first. A life
// that goes wrong is made shorter as long as it still does.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	lives, seed := number(t, "CRUSTER_LIVES", 60), number(t, "CRUSTER_SEED", rand.Uint64())
	var seen tally
	for i := range lives {
		l := drawLife(seed + i)
		faults := l.live(t, &seen)
		if len(faults) == 0 {
			continue
		}
		for shorter := true; shorter; {
			shorter = false
			for n := range l.events {
				less := l
				less.events = slices.Delete(slices.Clone(l.events), n, n+1)
				if again := less.live(t, &seen); len(again) > 0 {
					l, faults, shorter = less, again, true
					break
				}
			}
		}
		require.Fail(t, "a life went wrong", "CRUSTER_SEED=%d CRUSTER_LIVES=1\ncode: %s\nevents:\n  %s\n%s",
			seed+i, l.text(), strings.Join(l.events, "\n  "), strings.Join(faults, "\n"))
	}
	t.Logf("%d instances were made from saved states, %d turns were committed with a transaction", seen.restored, seen.ahead)
	if lives >= 60 {
		require.Positive(t, seen.restored)
		require.Positive(t, seen.ahead)
	}
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// life is a random life: code, and what happens to it.
type life struct {
	seed     uint64
	code     threads
	evicting bool
	events   []string
	// hibernating has states saved whenever an instance is dropped.
	hibernating bool
	// leaving has sleepers leave memory at once, if they sleep for more than a second.
	leaving bool
}

// tally counts what happened in lives.
type tally struct{ restored, ahead int }

const promises = 3 // deferreds that code waits for

func drawLife(seed uint64) life {
	random := rand.New(rand.NewPCG(seed, 0))
	l := life{seed: seed, evicting: random.IntN(3) == 0}
	for range 1 + random.IntN(3) {
		var thread []step
		for range 1 + random.IntN(4) {
			s := step{drawCall(random)}
			if random.IntN(4) == 0 {
				s = append(s, drawCall(random))
			}
			thread = append(thread, s)
		}
		l.code = append(l.code, thread)
	}
	for range 3 + random.IntN(20) {
		l.events = append(l.events, drawEvent(random))
	}
	l.hibernating = random.IntN(2) == 0
	l.leaving = random.IntN(2) == 0
	return l
}

func drawCall(random *rand.Rand) call {
	switch random.IntN(11) {
	case 9, 10:
		return call{abi.OpReceive, abi.MustMarshal(&abi.Receive{Name: fmt.Sprint("s", random.IntN(2))})}
	case 0:
		return call{abi.OpSleep, abi.MustMarshal(&abi.Sleep{Duration: int64(time.Duration(random.IntN(5)) * time.Second)})}
	case 1, 2:
		return call{abi.OpDeferred, abi.MustMarshal(&abi.Deferred{Name: fmt.Sprint("d", random.IntN(promises))})}
	case 3:
		return call{abi.OpInterrupted, abi.MustMarshal(&abi.Interrupted{})}
	case 4:
		return call{abi.OpPatched, abi.MustMarshal(&abi.Patched{ID: "p"})}
	case 5:
		return call{abi.OpCall, abi.MustMarshal(&abi.Call{Workflow: "c", Input: abi.Nil})}
	default:
		b := &abi.Activity{Name: fmt.Sprint("a", random.IntN(2)), Input: abi.Nil, Retry: abi.Retry{Base: int64(time.Second), Retries: 3}}
		return call{abi.OpActivity, abi.MustMarshal(b)}
	}
}

// panics are the points at which the host may panic while it works one execution.
var panics = []string{
	faultpoint.TurnBeforeCommit, faultpoint.TurnAfterCommit, faultpoint.TurnAfterEffects, faultpoint.SettleBeforeCommit,
	faultpoint.SettleAfterCommit, faultpoint.SignalBeforeCommit, faultpoint.SignalAfterCommit, faultpoint.InterruptAfterCommit,
	faultpoint.RetryBeforeCommit, faultpoint.RetryAfterCommit,
	faultpoint.MoveBeforeCommit, faultpoint.MoveAfterCommit, faultpoint.PauseBeforeCommit, faultpoint.CallAfter,
	faultpoint.AheadBeforeCommit, faultpoint.AheadAfterCommit, faultpoint.LinkAfterCommit, faultpoint.Replay, faultpoint.FinalAfterCommit, faultpoint.ResumeAfterCommit,
}

func drawEvent(random *rand.Rand) string {
	switch random.IntN(20) {
	case 19:
		return "query"
	case 16, 17, 18:
		return fmt.Sprintf("signal s%d", random.IntN(2))
	case 0, 1, 2:
		return fmt.Sprintf("advance %dms", random.IntN(4000))
	case 3, 4:
		return fmt.Sprintf("settle d%d", random.IntN(promises))
	case 5:
		return "interrupt"
	case 6:
		return "resume"
	case 7:
		return "evict"
	case 8:
		return fmt.Sprintf("crash %dms", random.IntN(2)*random.IntN(3000))
	case 9:
		return fmt.Sprintf("move m%d", random.IntN(2))
	case 10:
		return fmt.Sprintf("fork f%d %d", random.IntN(2), random.IntN(6))
	case 11:
		return "sweep"
	case 12, 13:
		mishaps := []string{"ok", "fail", "lose", "drop"}
		text := "store"
		for range 1 + random.IntN(5) {
			text += " " + mishaps[random.IntN(len(mishaps))]
		}
		return text
	case 14:
		return fmt.Sprintf("loads-fail %d", 1+random.IntN(3))
	default:
		return "panic " + panics[random.IntN(len(panics))]
	}
}

func (l life) text() string {
	var out strings.Builder
	for _, thread := range l.code {
		for _, s := range thread {
			var calls []string
			for _, c := range s {
				var body any
				_ = abi.Unmarshal(c.body, &body)
				calls = append(calls, fmt.Sprint(c.kind, body))
			}
			fmt.Fprintf(&out, "\n    %s", strings.Join(calls, " | "))
		}
		out.WriteString("\n    --")
	}
	return out.String()
}

// live lives the life, and returns what went wrong.
func (l life) live(t *testing.T, seen *tally) (faults []string) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{seed: l.seed, code: l.code, begun: map[journal.Caller]int{}}
		w.f = newFixtureOf(t, w.open, w)
		if l.evicting || l.hibernating || l.leaving {
			w.f.evicting = l.evicting
			if l.leaving {
				w.f.idle = time.Second
			}
			if l.hibernating {
				w.f.hibernation.Entries = 0
			}
			w.f.restart(0)
		}
		lived := &living{world: w, acknowledged: map[journal.RunID]*promised{}, told: map[journal.RunID]string{}}
		lived.start()
		for _, event := range l.events {
			lived.happen(event)
		}
		lived.end()
		faults = w.faults
		seen.restored += w.restored
		seen.ahead += w.ahead
	})
	return faults
}

// living is a life under way, with what the host has acknowledged of it.
type living struct {
	*world
	acknowledged map[journal.RunID]*promised
	told         map[journal.RunID]string
	settles      int
	sent         []string // signals, in order
}

// promised is what the host has acknowledged about a run.
type promised struct {
	row         *journal.Execution
	settled     map[string]string
	signals     []string // values
	answers     []string // to queries
	interrupted bool
	digest      string // that it was moved to last
}

func (l *living) promise(row *journal.Execution) {
	l.acknowledged[row.Run] = &promised{row: row, settled: map[string]string{}, digest: row.Digest}
}

// current is the run that has a key now; nil if there is none.
func (l *living) current(key string) *promised {
	row, err := l.f.store.Load(context.Background(), rowOf("w", key).ID)
	if err != nil {
		return nil
	}
	if l.acknowledged[row.Run] == nil {
		l.promise(row) // its start took effect without an acknowledgement
	}
	return l.acknowledged[row.Run]
}

func (l *living) start() {
	row := rowOf("w", "k")
	if existed, err := l.f.x.Start(context.Background(), row, nil); err == nil && !existed {
		l.promise(row)
	}
	l.pass(0)
}

// pass lets time pass, and recovers what is due.
func (l *living) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	due, err := l.f.store.Due(context.Background(), time.Now().UnixNano(), journal.Wake{}, 100)
	require.NoError(l.f.t, err)
	for _, w := range due {
		l.f.x.EnsureInMemory(w.ID)
	}
	synctest.Wait()
}

// ask makes a request that gives up after a while.
func (l *living) ask(request func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return request(ctx) == nil
}

func (l *living) happen(event string) {
	words := strings.Fields(event)
	run := l.current("k")
	switch words[0] {
	case "advance", "crash":
		d, err := time.ParseDuration(words[1])
		require.NoError(l.f.t, err)
		if words[0] == "crash" {
			l.f.restart(d)
			d = 0
		}
		l.pass(d)
	case "store":
		l.f.commits.mu.Lock()
		l.f.commits.next = words[1:]
		l.f.commits.mu.Unlock()
	case "loads-fail", "panic":
		l.f.mu.Lock()
		if l.f.panicAt = words[1]; words[0] == "loads-fail" {
			l.f.panicAt = ""
			_, _ = fmt.Sscan(words[1], &l.f.noLoads)
		}
		l.f.mu.Unlock()
	case "sweep":
		l.verifyFinal()
		_, err := l.f.store.Sweep(context.Background(), l.f.commits.fences, journal.Never, 100)
		require.NoError(l.f.t, err)
		if l.current("k") == nil {
			l.start()
		}
	default:
		if run != nil {
			l.request(run, words)
		}
	}
	synctest.Wait()
}

// request asks the host for something, and notes what it acknowledges.
func (l *living) request(run *promised, words []string) {
	x, ref := l.f.x, RefTo(run.row)
	switch words[0] {
	case "settle":
		l.settle(run, words[1])
	case "signal":
		l.signal(run, words[1])
	case "interrupt":
		if l.ask(func(ctx context.Context) error { return x.Interrupt(ctx, ref, "enough") }) {
			run.interrupted = true
		}
	case "resume":
		l.ask(func(ctx context.Context) error { return x.Resume(ctx, ref) })
	case "query":
		l.query(run)
	case "evict":
		x.evict(run.row.ID)
	case "move":
		if l.ask(func(ctx context.Context) error { return x.Move(ctx, ref, words[1]) }) {
			run.digest = words[1]
		} else {
			run.digest = "" // nothing tells
		}
	case "fork":
		l.fork(run, words[1], words[2])
	}
}

func (l *living) settle(run *promised, name string) {
	l.settles++
	value := fmt.Sprint("settled ", l.settles)
	if l.ask(func(ctx context.Context) error {
		return l.f.x.Settle(ctx, RefTo(run.row), journal.Deferred{Name: name, Value: abi.MustMarshal(value)})
	}) {
		run.settled[name] = value
	}
}

func (l *living) fork(run *promised, key, place string) {
	source, err := l.f.store.Load(context.Background(), run.row.ID)
	require.NoError(l.f.t, err)
	entries := l.journal(source)
	n, err := strconv.Atoi(place)
	require.NoError(l.f.t, err)
	var at uint64
	if n = min(n, len(entries)); n > 0 {
		at = entries[n-1].Seq
	}
	fork := rowOf("w", key)
	fork.Digest, fork.Pinned = source.Digest, source.Pinned
	var started bool
	if l.ask(func(ctx context.Context) (err error) {
		started, err = l.f.x.Fork(ctx, source, fork, at)
		return err
	}) && started {
		l.promise(fork)
	}
}

func (l *living) journal(row *journal.Execution) []journal.Entry {
	entries, _, err := l.f.store.Entries(context.Background(), row.ID, 0, journal.PageLimit{Entries: 10_000, Bytes: 1 << 30})
	require.NoError(l.f.t, err)
	return entries
}

// end removes all that is in the way, has every execution come to its end, and checks
// what they have done.
func (l *living) end() {
	l.f.mu.Lock()
	l.f.panicAt, l.f.noLoads = "", 0
	l.f.mu.Unlock()
	l.f.commits.mu.Lock()
	l.f.commits.next = nil
	l.f.commits.mu.Unlock()
	for _, key := range []string{"k", "f0", "f1"} {
		for tries := 0; ; tries++ {
			run := l.current(key)
			if run == nil {
				break
			}
			row, err := l.f.store.Load(context.Background(), run.row.ID)
			require.NoError(l.f.t, err)
			if row.State.Final() {
				break
			}
			if tries == 100 {
				l.wrong("%s does not end: %s", row.Name(), l.f.show(row))
				return
			}
			l.request(run, []string{"resume"})
			callee := rowOf("c", "child")
			l.ask(func(ctx context.Context) error { return l.f.x.Resume(ctx, Ref{ID: callee.ID, Name: callee.Name()}) })
			l.request(run, []string{"interrupt"})
			for i := range 2 {
				l.signal(run, fmt.Sprint("s", i))
			}
			for i := range promises {
				if name := fmt.Sprint("d", i); run.settled[name] == "" {
					l.settle(run, name)
				}
			}
			l.pass(5 * time.Second)
		}
	}
	l.verifyFinal()
	for _, run := range l.acknowledged {
		if l.told[run.row.Run] == "" {
			l.wrong("%s was acknowledged and is not there any more", run.row.Name())
		}
	}
}

// verifyFinal checks the executions that are over.
func (l *living) verifyFinal() {
	for _, key := range []string{"k", "f0", "f1"} {
		run := l.current(key)
		if run == nil {
			continue
		}
		row, err := l.f.store.Load(context.Background(), run.row.ID)
		require.NoError(l.f.t, err)
		if row.State.Final() {
			l.verify(run, row)
		}
	}
}

func (l *living) verify(run *promised, row *journal.Execution) {
	result := string(row.State) + " " + outcomeText(row.Value, row.Error)
	if before, ok := l.told[row.Run]; ok && before != result {
		l.wrong("%s was %s, and is %s", row.Name(), before, result)
	}
	l.told[row.Run] = result
	for name, value := range run.settled {
		if d, err := l.f.store.Deferred(context.Background(), row.ID, name); err != nil || outcomeText(d.Value, d.Error) != value {
			l.wrong("%s: %s=%s was acknowledged and is not there", row.Name(), name, value)
		}
	}
	if run.interrupted && row.Interrupt == nil {
		l.wrong("%s: an interrupt was acknowledged and is not there", row.Name())
	}
	if run.digest != "" && row.Digest != run.digest {
		l.wrong("%s: a move to %s was acknowledged and it is pinned to %s", row.Name(), run.digest, row.Digest)
	}
	for _, told := range run.answers {
		if row.State == journal.Completed && !strings.HasPrefix(outcomeText(row.Value, nil), told) {
			l.wrong("%s: it said %q, and ended with %q", row.Name(), told, outcomeText(row.Value, nil))
		}
	}
	l.verifySignals(run, row)
	l.verifyJournal(row)
}

// verifyJournal gives the journal to a fresh instance, and holds against it what the
// execution has done.
func (l *living) verifyJournal(row *journal.Execution) {
	entries := l.journal(row)
	g := l.fresh(row)
	turn, err := g.Start(context.Background())
	require.NoError(l.f.t, err)
	delivered := map[journal.StepID]uint64{}
	var last uint64
	for i, en := range entries {
		if en.Seq <= last {
			l.wrong("%s: entry %d comes after %d", row.Name(), en.Seq, last)
		}
		last = en.Seq
		if en.Kind != journal.Delivery {
			continue
		}
		if before := delivered[en.Op.Step()]; before != 0 {
			l.wrong("%s: entries %d and %d deliver the same step", row.Name(), before, en.Seq)
		}
		delivered[en.Op.Step()] = en.Seq
		if i > 0 && entries[i-1].Kind == journal.Delivery && entries[i-1].Turn == en.Turn {
			continue // it belongs to the turn before
		}
		var deliveries []abi.Delivery
		for _, other := range entries[i:] {
			if other.Kind == journal.Delivery && other.Turn == en.Turn {
				if _, waits := g.owner[other.Op.Number]; waits {
					deliveries = append(deliveries, abi.Delivery{Op: other.Op.Number, Value: other.Value, Error: other.Error})
				}
			}
		}
		if len(deliveries) == 0 {
			continue // given up while its transaction was committing
		}
		if turn.Outcome != nil {
			l.wrong("%s: entry %d comes after the end", row.Name(), en.Seq)
			break
		}
		turn, err = g.Resume(context.Background(), deliveries, en.At)
		require.NoError(l.f.t, err)
	}
	switch {
	case row.State != journal.Completed || turn.Outcome == nil:
		l.wrong("%s is %s: %s", row.Name(), row.State, l.f.show(row))
	case string(turn.Outcome.Value) != string(row.Value):
		l.wrong("%s: the result is %s, the journal says %s", row.Name(), outcomeText(row.Value, nil), outcomeText(turn.Outcome.Value, nil))
	}
	l.mu.Lock()
	instances := slices.Clone(l.instances)
	l.mu.Unlock()
	for _, other := range instances {
		if n := len(other.told) - 1; other.row.Run == row.Run && n > 0 && (n > len(g.told) || !slices.Equal(other.told[:n], g.told[:n])) {
			l.wrong("%s: an instance was told %q, the journal says %q", row.Name(), other.told, g.told)
		}
	}
}
