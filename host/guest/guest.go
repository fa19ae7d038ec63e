package guest

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Guest is the live instance of a workflow. Its clock shows the time of the last delivery, its random source has the
// seed that is pinned to the run, and it can reach nothing else. It belongs to one goroutine at a time.
type Guest struct {
	inst   *wasm.Instance
	invoke abi.Invocation
	clock  int64 // journal time, Unix nanoseconds
	random *rand.ChaCha8
	format uint32 // of the journal
	ops    uint32 // issued so far
	seen   op.Occurrences

	continued bool // the run has taken the place of another one

	memory    Memory
	starved   *abi.Error     // the host had no memory for an op
	open      map[uint32]int // sizes of the ops that wait for their delivery
	openBytes int            // their sum
	turn      Turn           // the one under way
	asked     bool           // it answers a query, and is a copy
	uncounted int            // ops of the turn under way that its limit does not count
	logBytes  int            // of the turn under way
	fuel      int64          // that was used before it
}

// Memory has the permits that a guest takes its memory from. Without a permit it takes as much as
// it is allowed.
type Memory struct {
	// Instance is for linear memory, beyond the initial memory of instances.
	Instance *budget.Permit
	// Ops is for the ops that wait for their delivery: they are in the host's memory, and stay there while the instance
	// is evicted.
	Ops *budget.Permit
}

// Turn is the outcome of one call into a guest.
type Turn struct {
	Issued    []*op.Op
	Cancelled []uint32
	Log       []LogLine
	Outcome   *abi.Outcome // set if the workflow has ended
	// Fuel is the fuel used by the turn, and FuelSoFar by all turns of the guest: a replay comes to
	// the same.
	Fuel, FuelSoFar int64
}

// Continues tells whether the workflow has ended and another run takes its place.
func (t *Turn) Continues() bool { return t.Outcome != nil && t.Outcome.Continue != nil }

// LogLine is a line that a guest logged.
type LogLine struct {
	Level   int32
	Message string
}

// Bounds of the memory that the host holds for a guest. A guest that asks for more has its ops
// refused, and its log cut.
const (
	maxOpenOps   = 100_000
	maxOpenBytes = 64 << 20
	maxTurnLog   = 256 << 10
	logLineCost  = 16 // bytes that a line costs besides its text
	// opCost is about how many bytes of the host's memory an op takes besides its body.
	opCost = 1 << 10
)

// Open takes an instance for an execution; nothing has run but the module's own initialisation. A turn may use this
// much fuel; zero is no limit.
func Open(ctx context.Context, code *wasm.Module, row *journal.Execution, memory Memory, fuel int64) (*Guest, error) {
	g, world, err := newGuest(row, memory, fuel)
	if err != nil {
		return nil, err
	}
	if g.inst, err = code.Instantiate(ctx, world); err != nil {
		return nil, err
	}
	return g, nil
}

// newGuest makes a guest that has no instance yet, and the world for it.
func newGuest(row *journal.Execution, memory Memory, fuel int64) (*Guest, wasm.World, error) {
	pinned := row.Pinned
	if pinned.Format == 0 || pinned.Format > journal.CurrentFormat {
		return nil, wasm.World{}, abi.Errorf(
			abi.CodeJournalFormat, "the journal has format %d, and this host knows the formats up to %d", pinned.Format,
			journal.CurrentFormat,
		)
	}
	_, name, _ := strings.Cut(row.Workflow, "/")
	seed := sha256.Sum256(append([]byte("cruster random "), pinned.Seed[:]...))
	g := &Guest{
		continued: row.Continued > 0,
		format:    pinned.Format,
		clock:     pinned.Time,
		memory:    memory,
		open:      map[uint32]int{},
		seen:      op.Occurrences{},
		random:    rand.NewChaCha8(seed),
		invoke: abi.Invocation{
			Kind:      abi.InvokeWorkflow,
			Name:      name,
			Body:      row.Input,
			Execution: row.Name(),
			Namespace: row.Namespace,
			Seed:      guestSeed(pinned.Seed),
			Time:      pinned.Time,
			Unread:    pinned.Unread,
		},
	}
	world := g.world(pinned)
	world.Fuel = fuel
	if memory.Instance != nil {
		world.Memory = memory.Instance
	}
	return g, world, nil
}

// guestSeed returns the seed of an SDK's own random numbers. It differs from the seed of
// random_get, so that the two sequences do.
func guestSeed(seed journal.RunID) []byte {
	sum := sha256.Sum256(append([]byte("cruster guest "), seed[:]...))
	return sum[:16]
}

// ownInitFormat is the last format of journals whose runs initialise their module themselves.
const ownInitFormat = 1

// world is all that the guest can observe.
func (g *Guest) world(pinned journal.Pinned) wasm.World {
	return wasm.World{
		MemoryLimit: int64(pinned.Memory),
		OwnInit:     pinned.Format <= ownInitFormat,

		Clock:  func() time.Time { return time.Unix(0, g.clock) },
		Random: g.random,
		Log:    g.keepLog,
		Stdout: func(line []byte) { g.keepLog(abi.LogInfo, line) },
		Stderr: func(line []byte) { g.keepLog(abi.LogWarn, line) },
		Op:     g.issue,
		Cancel: g.cancel,
		Call:   refuseCall,
	}
}

func (g *Guest) keepLog(level int32, message []byte) {
	if g.logBytes += len(message) + logLineCost; g.logBytes <= maxTurnLog {
		g.turn.Log = append(g.turn.Log, LogLine{level, string(message)})
	}
}

// issue takes a durable request. It only takes it: nothing happens before the turn has ended and is
// committed.
func (g *Guest) issue(kind string, body []byte) (uint32, *abi.Error) {
	if g.asked {
		return 0, abi.Errorf(abi.CodeWrongContext, "durable calls are not available in the answer to a query").
			WithHint("A query only looks. Send the workflow a signal to have it do something.")
	}
	uncounted := g.isUncounted(kind)
	if !uncounted && len(g.turn.Issued)-g.uncounted >= abi.MaxOpsPerTurn {
		return 0, abi.Errorf(
			abi.CodeTooManyOps, "the workflow issued more than %d ops without waiting for one", abi.MaxOpsPerTurn,
		)
	}
	if len(g.open) >= maxOpenOps || g.openBytes+len(body) > maxOpenBytes {
		return 0, abi.Errorf(
			abi.CodeTooManyOps, "the workflow waits for %d ops of %d bytes already", len(g.open), g.openBytes,
		)
	}
	if g.admit(len(body)); g.starved != nil {
		return 0, g.starved
	}
	o, err := op.New(kind, body, g.ops+1, g.clock)
	if err != nil {
		g.giveBack(len(body))
		return 0, err
	}
	g.ops++
	g.seen.Count(o)
	g.open[o.Number] = len(body)
	g.openBytes += len(body)
	g.turn.Issued = append(g.turn.Issued, o)
	if uncounted {
		g.uncounted++
	}
	return o.Number, nil
}

// everyOpCountsFormat is the last format of journals whose runs have all ops of a turn counted.
const everyOpCountsFormat = 2

// isUncounted tells whether the limit of a turn does not count an op: the first interrupted of the turn. SDKs issue one
// for every workflow, and authors do not see it. Further ones count, so that a turn has a limit, whatever it issues.
func (g *Guest) isUncounted(kind string) bool {
	return kind == abi.OpInterrupted && g.uncounted == 0 && g.format > everyOpCountsFormat
}

// admit takes memory for an op. If there is none the turn is in vain: the guest's reaction to the
// refusal is not seen by anyone. It is taken again later, unless that cannot help.
func (g *Guest) admit(body int) {
	ops, bytes := g.memory.Ops, opCost+int64(body)
	switch {
	case ops == nil || g.starved != nil || ops.Grow(bytes):
	case ops.CouldGrow(bytes):
		g.starved = abi.Errorf(abi.CodeOverloaded, "the host has no memory left for the ops of a workflow")
	default:
		g.starved = abi.Errorf(
			abi.CodeTooManyOps,
			"the workflow waits for %d ops, and they take more memory than the host has for those of one workflow",
			len(g.open),
		).
			WithHint("Start the host with a larger --memory and resume the execution, or move it to code that waits " +
				"for fewer ops at once.")
	}
}

func (g *Guest) giveBack(body int) {
	if g.memory.Ops != nil {
		g.memory.Ops.Shrink(opCost + int64(body))
	}
}

// cancel takes note that the guest gave up on an op. Numbers that name no open op mean nothing.
func (g *Guest) cancel(number uint32) {
	if g.closeOp(number) {
		g.turn.Cancelled = append(g.turn.Cancelled, number)
	}
}

func (g *Guest) closeOp(number uint32) bool {
	size, ok := g.open[number]
	if ok {
		g.openBytes -= size
		g.giveBack(size)
		delete(g.open, number)
	}
	return ok
}

// refuseCall answers the immediate calls, which belong in activities.
func refuseCall(_ context.Context, name string, _ []byte) ([]byte, *abi.Error) {
	what := map[string]string{
		abi.ImportTxExec:     "SQL",
		abi.ImportTxQuery:    "SQL",
		abi.ImportTxRollback: "SQL",
		abi.ImportHTTP:       "HTTP",
		abi.ImportHTTPAll:    "HTTP",
		abi.ImportConfig:     "configuration",
	}[name]
	return nil, abi.Errorf(
		abi.CodeWrongContext, "%s is not available in execute: its answer would differ on replay", what,
	).
		WithHint("Move it into an activity and call that.")
}

// Start takes the first turn.
func (g *Guest) Start(ctx context.Context) (Turn, error) {
	g.beginTurn()
	input := abi.MustMarshal(&g.invoke)
	g.invoke.Body = nil // the guest has it from here on
	t, err := g.inst.Start(ctx, input)
	turn, err := g.finishTurn(t, err)
	if err == nil && g.continued && refusesRequest(&turn) {
		refusal := turn.Outcome.Error
		turn.Outcome = nil
		return turn, abi.Errorf(
			abi.CodeUnreadable,
			"the run that this one continues has handed over a request that its code cannot read: %s", refusal.Message,
		)
	}
	return turn, err
}

// refusesRequest tells whether code could not decode its request: it says so before it does
// anything. To a caller who starts an execution that is the answer. A run that continues another
// has no such caller, and its input must not be lost: it is paused, as a run that cannot read its
// deliveries.
func refusesRequest(first *Turn) bool {
	if first.Outcome == nil || first.Outcome.Error == nil || first.Outcome.Error.Code != abi.CodeBadInput {
		return false
	}
	// which SDKs issue
	return !slices.ContainsFunc(first.Issued, func(o *op.Op) bool { return o.Kind != abi.OpInterrupted })
}

// Resume takes a turn: it delivers, at a journal time.
func (g *Guest) Resume(ctx context.Context, r abi.Resume) (Turn, error) {
	g.beginTurn()
	g.clock = r.Time
	for _, d := range r.Deliveries {
		g.closeOp(d.Op)
	}
	t, err := g.inst.Resume(ctx, g.resumption(&r))
	return g.finishTurn(t, err)
}

// untoldEntriesFormat is the last format of journals whose runs are not told how many entries
// there are.
const untoldEntriesFormat = 3

// resumption returns the bytes a turn begins with: for runs of older formats the very bytes that
// they began with, so that nothing which depends on their number differs.
func (g *Guest) resumption(r *abi.Resume) []byte {
	if g.format > untoldEntriesFormat {
		return abi.MustMarshal(r)
	}
	return abi.MustMarshal(&struct {
		Deliveries []abi.Delivery `msgpack:"deliveries"`
		Time       int64          `msgpack:"time"`
	}{r.Deliveries, r.Time})
}

func (g *Guest) beginTurn() { g.turn, g.uncounted, g.logBytes = Turn{}, 0, 0 }

// Query asks a guest that is parked a question. It cannot go on after that: ask a copy. The answer is the outcome of
// the turn.
func (g *Guest) Query(ctx context.Context, q *abi.Query) (Turn, error) {
	g.beginTurn()
	g.asked = true
	output, err := g.inst.Query(ctx, abi.MustMarshal(q))
	turn, err := g.finishTurn(wasm.Turn{Parked: true}, err) // the answer is no outcome of a workflow
	if err != nil {
		return Turn{Fuel: turn.Fuel}, err
	}
	answer, oerr := abi.DecodeResult(output)
	if oerr != nil {
		return Turn{Fuel: turn.Fuel}, oerr
	}
	turn.Outcome = answer
	return turn, nil
}

func (g *Guest) finishTurn(t wasm.Turn, err error) (Turn, error) {
	turn := g.turn
	turn.FuelSoFar = g.inst.FuelUsed()
	turn.Fuel, g.fuel = turn.FuelSoFar-g.fuel, turn.FuelSoFar
	g.turn = Turn{}
	if g.starved != nil {
		return Turn{}, g.starved
	}
	if err != nil || t.Parked {
		return turn, err
	}
	outcome, oerr := abi.DecodeOutcome(t.Output)
	if oerr != nil {
		return turn, oerr
	}
	if outcome.Error != nil && outcome.Error.Code == abi.CodeUnreadable {
		return turn, outcome.Error // it has not ended: other code may be able to read this
	}
	turn.Outcome = outcome
	return turn, nil
}

// Close gives the instance back: reset, it serves others. The journal knows all it knew.
func (g *Guest) Close() { _ = g.inst.Close() }

// IsTrap tells whether an error is the end of an instance by its own code.
func IsTrap(err error) bool {
	var trap *wasm.Trap
	return errors.As(err, &trap)
}
