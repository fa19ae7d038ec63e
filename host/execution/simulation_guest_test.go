package execution

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// threads is the code of a workflow in a random life: its concurrent threads. Each thread is a row
// of steps, and each step a few ops: the first one delivered wins, the others are cancelled. The
// result of the workflow is the list of its deliveries, in order.
type threads [][]step

type step []call

type call struct {
	kind string
	body []byte
}

// threadsGuest is an instance of such a workflow.
type threadsGuest struct {
	world *world
	row   *journal.Execution
	code  threads
	at    []int // the step of each thread
	clock int64
	ops   uint32
	seen  op.Occurrences
	owner map[uint32]int // the thread of each op that is waited for
	told  []string       // its deliveries; one for each turn

	issued map[uint32]*op.Op

	updates map[uint32]bool   // the ops that wait for updates
	signals map[uint32]string // the ops that wait for signals, with their names
	asked   []string          // updates that it has not answered, by id
	carried
}

func (w *world) open(_ context.Context, row *journal.Execution) (Opening, error) {
	copied := *row
	return Opening{
		Bytes: 1,
		Open:  func(context.Context, guest.Memory) (Guest, error) { return w.instance(&copied), nil },
		Restore: func(_ context.Context, _ guest.Memory, saved *guest.Saved) (Guest, error) {
			return w.restore(&copied, saved)
		},
	}, nil
}

// Save implements Guest: the world keeps a copy.
func (g *threadsGuest) Save() (*guest.Saved, error) {
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	g.world.saved = append(g.world.saved, g.clone())
	return &guest.Saved{Ops: uint32(len(g.world.saved))}, nil
}

// restore makes an instance of a saved state, and remembers it.
func (w *world) restore(row *journal.Execution, saved *guest.Saved) (Guest, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.saved[saved.Ops-1].clone()
	if g.row.Run != row.Run {
		return nil, fmt.Errorf("%s is restored from what was saved of another run", row.Name())
	}
	w.instances, w.restored = append(w.instances, g), w.restored+1
	return g, nil
}

func (g *threadsGuest) clone() *threadsGuest {
	c := *g
	c.at, c.seen, c.owner, c.told = slices.Clone(g.at), maps.Clone(g.seen), maps.Clone(g.owner), slices.Clone(g.told)
	c.updates, c.signals, c.asked = maps.Clone(g.updates), maps.Clone(g.signals), slices.Clone(g.asked)
	c.issued, c.carried = maps.Clone(g.issued), g.carried.clone()
	return &c
}

// instance makes an instance, and remembers it.
func (w *world) instance(row *journal.Execution) *threadsGuest {
	g := w.fresh(row)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instances = append(w.instances, g)
	return g
}

func (w *world) fresh(row *journal.Execution) *threadsGuest {
	code := w.codeOf(row.Workflow)
	return &threadsGuest{
		world: w, row: row, code: code, at: make([]int, len(code)), clock: row.Pinned.Time, seen: op.Occurrences{},
		owner: map[uint32]int{}, issued: map[uint32]*op.Op{},
		updates: map[uint32]bool{}, signals: map[uint32]string{}, carried: carriedBy(row),
	}
}

func (g *threadsGuest) Close() {}

// Query implements Guest: it returns its deliveries, and is of no use after that.
func (g *threadsGuest) Query(context.Context, *abi.Query) (guest.Turn, error) {
	told := strings.Join(g.told, "; ")
	g.told = append(g.told, "it was asked")
	return guest.Turn{Outcome: &abi.Outcome{Value: abi.MustMarshal(told)}}, nil
}

func (g *threadsGuest) Start(context.Context) (guest.Turn, error) {
	var turn guest.Turn
	for thread := range g.code {
		g.issue(&turn, thread)
	}
	g.show(&turn)
	return g.finish(turn), nil
}

func (g *threadsGuest) Resume(_ context.Context, r abi.Resume) (guest.Turn, error) {
	deliveries, at := r.Deliveries, r.Time
	if at < g.clock {
		g.world.wrong("%s: the clock runs backwards", g.row.Name())
	}
	g.clock = at
	if g.unreadable(deliveries) {
		return guest.Turn{}, abi.Errorf(abi.CodeUnreadable, "it cannot read what is delivered")
	}
	var turn guest.Turn
	var told []string
	var won []int
	waiting := slices.Clone(g.asked)
	for _, d := range deliveries {
		thread, waits := g.owner[d.Op]
		if !waits {
			g.world.wrong("%s: op %d was delivered, and is not waited for", g.row.Name(), d.Op)
		}
		delete(g.owner, d.Op)
		told = append(told, fmt.Sprintf("%d=%s", d.Op, outcomeText(d.Value, d.Error)))
		if thread != ownOps && !slices.Contains(won, thread) {
			won = append(won, thread)
		}
		if g.updates[d.Op] {
			g.ask(d)
		}
		if name := g.signals[d.Op]; name != "" {
			g.Received[name] = append(g.Received[name], outcomeText(d.Value, d.Error))
		}
	}
	g.told = append(g.told, strings.Join(told, " "))
	for _, thread := range won {
		for _, number := range g.waitedFor(thread) {
			turn.Cancelled = append(turn.Cancelled, number)
			delete(g.owner, number)
		}
		g.at[thread]++
		g.issue(&turn, thread)
	}
	g.reply(&turn, waiting)
	g.show(&turn)
	return g.finish(turn), nil
}

func (g *threadsGuest) waitedFor(thread int) (numbers []uint32) {
	for number, owner := range g.owner {
		if owner == thread {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

func (g *threadsGuest) issue(turn *guest.Turn, thread int) {
	if g.at[thread] == len(g.code[thread]) {
		return
	}
	for _, c := range g.code[thread][g.at[thread]] {
		g.issueOp(turn, c, thread)
		g.updates[g.ops] = c.kind == abi.OpUpdate
		if o := turn.Issued[len(turn.Issued)-1]; c.kind == abi.OpReceive {
			g.signals[g.ops] = o.Name
		}
	}
}

// issueOp issues an op for a thread.
func (g *threadsGuest) issueOp(turn *guest.Turn, c call, thread int) {
	g.ops++
	o, err := op.New(c.kind, g.dressed(c), g.ops, g.clock)
	if err != nil {
		panic(err)
	}
	g.seen.Count(o)
	g.owner[g.ops], g.issued[g.ops] = thread, o
	turn.Issued = append(turn.Issued, o)
}

func (g *threadsGuest) finish(turn guest.Turn) guest.Turn {
	done := 0
	for thread := range g.code {
		if g.at[thread] == len(g.code[thread]) {
			done++
		}
	}
	if done < len(g.code) && (done == 0 || !g.world.hasty) {
		return turn
	}
	if g.Runs < g.world.renewals {
		turn.Outcome = &abi.Outcome{Continue: &abi.Continue{Input: g.carried.next()}}
		return turn
	}
	turn.Outcome = &abi.Outcome{Value: abi.MustMarshal(strings.Join(g.told, "; "))}
	return turn
}

// world is the surroundings of the executions of a random life, and the observations of them. It
// performs activities. The outcome of an attempt depends on the seed, the step and how often it was
// begun, and on nothing else.
type world struct {
	seed      uint64
	code      threads
	f         *fixture
	renewals  int    // how often workflows go on as another run
	sql       bool   // attempts of activities use SQL
	hasty     bool   // workflows end with the first of their threads
	reliable  bool   // activities succeed at once
	publishes bool   // workflows publish
	picky     bool   // some code cannot read what some activities return
	slow      bool   // activities take five times as long
	fixed     uint64 // the chance of all attempts, if it is not 0

	mu        sync.Mutex
	instances []*threadsGuest        // guarded by mu, like all below
	begun     map[journal.Caller]int // attempts, by step
	saved     []*threadsGuest
	restored  int
	ahead     int // turns that were committed with a transaction
	faults    []string
}

// wrong notes that something is not as it should be.
func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// Perform implements Activities.
func (w *world) Perform(ctx context.Context, task activity.Task) activity.Report {
	if !task.Begin(ctx) {
		return nil
	}
	if w.reliable {
		return activity.Done{Outcome: abi.Outcome{Value: w.value(task)}, Attempts: 1}
	}
	for ctx.Err() == nil {
		chance := w.chance(task)
		if w.sql { // it reserves its number at once
			chance -= chance % 7
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(chance%7) * w.pace()):
		}
		chance /= 7
		if w.sql {
			chance += 3 - chance%8
		}
		switch chance % 8 {
		case 0:
			return activity.Failed{Err: &abi.Error{Code: abi.CodeActivityFailed, Message: "not now", Retryable: true}}
		case 1:
			return activity.Failed{Err: &abi.Error{Code: abi.CodeActivityFailed, Message: "never"}}
		case 2:
			return activity.Stuck{Err: abi.Errorf(abi.CodeModuleInit, "it does not initialise")}
		case 3, 4, 5:
			if report, over := w.transact(ctx, task, chance/8); over {
				return report
			}
		default:
			return activity.Done{Outcome: abi.Outcome{Value: w.value(task)}, Attempts: task.Failed + 1}
		}
	}
	return nil
}

// pace is the unit of how long attempts take.
func (w *world) pace() time.Duration {
	if w.slow {
		return 1500 * time.Millisecond
	}
	return 300 * time.Millisecond
}

func (w *world) value(task activity.Task) []byte {
	return abi.MustMarshal(task.Row.Run.String()[:8])
}

// chance is a number for the next attempt of a step.
func (w *world) chance(task activity.Task) uint64 {
	if w.fixed != 0 {
		return w.fixed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	step := journal.Caller{ID: task.Row.ID, Step: task.Op.Step()}
	w.begun[step]++
	h := fnv.New64a()
	h.Write(binary.BigEndian.AppendUint64(nil, w.seed))
	h.Write(step.Step[:])
	h.Write([]byte{byte(w.begun[step])})
	return h.Sum64()
}

// transact is an attempt that used SQL. It reports false if it is to be repeated.
func (w *world) transact(ctx context.Context, task activity.Task, chance uint64) (activity.Report, bool) {
	entry, wanted := task.Reserve(ctx, w.value(task), task.Failed+1)
	if !wanted {
		return activity.Dropped{}, true
	}
	life := w.f.life.Context()
	select {
	case <-life.Done():
		return nil, true
	case <-time.After(time.Duration(chance%5) * 200 * time.Millisecond):
	}
	if chance/5%4 == 0 { // it collided with another
		task.Void(entry.Seq)
		return nil, false
	}
	how := "commit-ahead"
	if chance/20%4 == 0 || w.sql {
		how = "commit"
	}
	delivered, err := w.f.commitEntry(task, entry, how)
	switch {
	case err == nil:
		w.mu.Lock()
		w.ahead += map[bool]int{true: 1}[delivered]
		w.mu.Unlock()
		return activity.Committed{Entry: entry, Delivered: delivered}, true
	case life.Err() != nil:
		return nil, true
	default:
		task.Void(entry.Seq)
		return nil, false
	}
}
