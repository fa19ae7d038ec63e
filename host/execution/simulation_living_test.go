package execution

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// living is a life under way, with the acknowledgements of the host.
type living struct {
	*world
	acknowledged map[journal.RunID]*promised
	chains       map[journal.RunID]*sent
	told         map[journal.RunID]string // how runs ended, by chain
	settles      int
	sent         []string // signals, in order
	updates      int      // how many were sent
	answered     int      // and answered
	unanswered   int      // or not
	counts       endings
	forked       map[string]bool       // seeds of runs that may have forks
	sealed       map[journal.RunID]int // the entries of runs whose end was acknowledged
}

// endings counts the causes of the ends of runs, and later events.
type endings struct {
	terminated, failed, deleted, startedOver, unheard, purged, flooded int
	childrenEnded, cancelled, terminatedChildren, byRuns, unreadable   int
}

func (e *endings) add(other endings) {
	e.terminated += other.terminated
	e.failed += other.failed
	e.deleted += other.deleted
	e.startedOver += other.startedOver
	e.unheard += other.unheard
	e.purged += other.purged
	e.flooded += other.flooded
	e.childrenEnded += other.childrenEnded
	e.cancelled += other.cancelled
	e.terminatedChildren += other.terminatedChildren
	e.byRuns += other.byRuns
	e.unreadable += other.unreadable
}

// promised holds the acknowledgements of the host about a run.
type promised struct {
	row         *journal.Execution
	settled     map[string]string
	answers     []string // to queries
	interrupted bool
	digest      string // that it was moved to last
	*sent
}

// sent holds the messages sent to the runs of a chain.
type sent struct {
	signals []string // values
	updates []*sentUpdate
	toEnd   bool // it was asked to be ended, or failed
}

func newLiving(w *world) *living {
	return &living{
		world:        w,
		acknowledged: map[journal.RunID]*promised{},
		chains:       map[journal.RunID]*sent{},
		told:         map[journal.RunID]string{},
		sealed:       map[journal.RunID]int{},
		forked:       map[string]bool{},
	}
}

func (l *living) promise(row *journal.Execution) {
	if l.chains[row.Chain] == nil {
		l.chains[row.Chain] = &sent{}
	}
	l.acknowledged[row.Run] = &promised{
		row: row, settled: map[string]string{}, digest: row.Digest, sent: l.chains[row.Chain],
	}
}

// current is the run that has a key now; nil if there is none.
func (l *living) current(key string) *promised {
	row, err := l.f.store.Load(context.Background(), rowOf("w", key).ID)
	if err != nil {
		return nil
	}
	return l.promised(row)
}

// promised is the oracle's view of a run.
func (l *living) promised(row *journal.Execution) *promised {
	if l.acknowledged[row.Run] == nil {
		l.promise(row) // its start took effect without an acknowledgement
	}
	return l.acknowledged[row.Run]
}

func (l *living) start() {
	row := rowOf("w", "k")
	if existed, err := l.f.x.Starter.Start(context.Background(), row, nil); err == nil && !existed {
		l.promise(row)
	}
	l.pass(0)
}

// pass lets time pass. Meanwhile the host recovers due executions, as always.
func (l *living) pass(d time.Duration) {
	time.Sleep(d)
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
	case "terminate", "terminate-child", "fail", "delete", "start-over", "purge":
		l.endRun(words)
	case "unheard":
		if run != nil {
			l.endUnheard(run, words[1], words[2])
		}
	default:
		if run != nil {
			l.request(run, words)
		}
	}
	synctest.Wait()
}

// request sends the host a request, and notes its acknowledgement.
func (l *living) request(run *promised, words []string) {
	x, ref := l.f.x, request.RefTo(run.row)
	switch words[0] {
	case "settle":
		l.settle(run, words[1])
	case "signal":
		l.signal(run, words[1])
	case "interrupt":
		if l.ask(func(ctx context.Context) error { return x.Messages.Interrupt(ctx, ref, "enough") }) {
			run.interrupted = true
		}
	case "resume":
		l.ask(func(ctx context.Context) error { return x.Operator.Resume(ctx, ref) })
	case "query":
		l.query(run)
	case "update":
		l.update(run, len(words) > 1)
	case "evict":
		x.evictor.evict(run.row.ID)
	case "flood":
		l.flood(run)
	case "drain":
		l.drain(run)
	case "move":
		if l.ask(func(ctx context.Context) error { return x.Operator.Move(ctx, ref, words[1]) }) {
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
		return l.f.x.Messages.Settle(ctx, request.RefTo(run.row), journal.Deferred{
			Name: name, Value: abi.MustMarshal(value),
		})
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
	l.forked[seedText(source)] = true
	var started bool
	if l.ask(func(ctx context.Context) (err error) {
		started, err = l.f.x.Recoder.Fork(ctx, source, fork, at)
		return err
	}) && started {
		l.promise(fork)
	}
}

func (l *living) journal(row *journal.Execution) []journal.Entry {
	entries, _, err := l.f.store.Entries(context.Background(), row.RunKey(), 0, journal.PageLimit{
		Entries: 10_000, Bytes: 1 << 30,
	})
	require.NoError(l.f.t, err)
	return entries
}

// end removes all obstacles, has every execution come to its end, and checks their effects.
func (l *living) end() {
	l.clearObstacles()
	for _, key := range lifeKeys {
		if run := l.current(key); run != nil {
			l.drain(run)
		}
	}
	l.verifyProgress()
	for tries := 0; l.poke(); tries++ {
		if tries == 100 {
			l.wrong("not all executions end")
			return
		}
		l.pass(5 * time.Second)
	}
	l.verifyGivenUp()
	l.verifyFinal()
	for _, run := range l.acknowledged {
		if l.told[run.row.Chain] == "" {
			l.wrong("%s was acknowledged and is not there any more", run.row.Name())
		}
	}
}

// lifeKeys are the keys of the executions that the oracle watches.
var lifeKeys = []string{"k", "f0", "f1"}

// resumeAll lets all go on that are paused.
func (l *living) resumeAll() {
	for _, row := range l.all() {
		if row.State == journal.Paused && abi.CodeOf(row.Error) != abi.CodeUnreadable {
			l.ask(func(ctx context.Context) error { return l.f.x.Operator.Resume(ctx, request.RefTo(&row)) })
		}
	}
}

// poke gives all open executions the input they may wait for, except callees given up by finished
// runs. It reports whether there was anything.
func (l *living) poke() (open bool) {
	l.resumeAll()
	rows := l.all()
	running := map[journal.RunID]bool{}
	for i := range rows {
		running[rows[i].Run] = !rows[i].State.Final()
	}
	for i := range rows {
		row := &rows[i]
		switch {
		case row.State.Final():
		case row.Workflow == "scripts/w":
			open = true
			l.pokeRun(row)
		case row.Workflow == "scripts/back": // it may start its caller
			open = true
		case running[row.Parent.Run], row.Pinned.OnCancel == "":
			l.ask(func(ctx context.Context) error {
				return l.f.x.Messages.Interrupt(ctx, request.RefTo(row), "its caller waits")
			})
		}
	}
	return open
}

func (l *living) pokeRun(row *journal.Execution) {
	run := l.current(row.Key)
	if row.State == journal.Paused && abi.CodeOf(row.Error) == abi.CodeUnreadable {
		l.counts.unreadable++
		l.request(run, []string{"move", "m1"})
	}
	l.request(run, []string{"interrupt"})
	for i := range 2 {
		l.signal(run, fmt.Sprint("s", i))
	}
	l.update(run, false)
	for i := range promises {
		if name := fmt.Sprint("d", i); run.settled[name] == "" {
			l.settle(run, name)
		}
	}
}
