package host

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// guest is the live instance of a workflow. Everything it can observe is a
// function of the execution's id and its journal: its clock shows the time of
// the last delivery, its random source is seeded by the id, and it can reach
// nothing else. It belongs to one goroutine at a time.
type guest struct {
	inst  *wasm.Instance
	clock int64  // journal time, Unix nanoseconds
	ops   uint32 // issued so far

	open      map[uint32]int // sizes of the ops that wait for their delivery
	openBytes int            // their sum
	turn      turnResult     // of the turn under way
	logBytes  int            // of the turn under way
}

// turnResult is what one turn of the guest came to.
type turnResult struct {
	issued    []*op
	cancelled []uint32
	log       []logLine
	outcome   *abi.Outcome // set if the workflow is over
}

type logLine struct {
	level   int32
	message string
}

// What a guest may make the host hold for it. A guest that asks for more has its
// ops refused, and its log cut.
const (
	maxOpenOps   = 100_000
	maxOpenBytes = 64 << 20
	maxTurnLog   = 256 << 10
)

// newGuest makes a fresh instance for an execution; nothing has run but the
// module's own initialisation.
func (e *Engine) newGuest(ctx context.Context, m *module, row *journal.Execution) (*guest, error) {
	g := &guest{clock: row.CreatedAt, open: map[uint32]int{}}
	seed := sha256.Sum256(append([]byte("cruster random "), row.ID[:]...))
	world := wasm.World{
		Clock:  func() time.Time { return time.Unix(0, g.clock) },
		Random: rand.NewChaCha8(seed),
		Log:    func(level int32, message []byte) { g.keepLog(level, message) },
		Stdout: func(line []byte) { g.keepLog(abi.LogInfo, line) },
		Stderr: func(line []byte) { g.keepLog(abi.LogWarn, line) },
		Op:     g.issue,
		Cancel: g.cancel,
		Call:   refuseInWorkflow,
	}
	inst, err := m.code.Instantiate(ctx, world)
	if err != nil {
		return nil, err
	}
	g.inst = inst
	return g, nil
}

func (g *guest) keepLog(level int32, message []byte) {
	if g.logBytes += len(message) + 16; g.logBytes <= maxTurnLog {
		g.turn.log = append(g.turn.log, logLine{level, string(message)})
	}
}

// issue takes a durable request. It only takes it: nothing happens before the
// turn is over and committed.
func (g *guest) issue(kind string, body []byte) (uint32, *abi.Error) {
	if len(g.turn.issued) >= abi.MaxOpsPerTurn {
		return 0, abi.Errorf(abi.CodeTooManyOps, "the workflow issued more than %d ops without waiting for one", abi.MaxOpsPerTurn)
	}
	if len(g.open) >= maxOpenOps || g.openBytes+len(body) > maxOpenBytes {
		return 0, abi.Errorf(abi.CodeTooManyOps, "the workflow waits for %d ops of %d bytes already", len(g.open), g.openBytes)
	}
	o, err := newOp(kind, body, g.ops+1, g.clock)
	if err != nil {
		return 0, err
	}
	g.ops++
	g.open[o.Number] = len(body)
	g.openBytes += len(body)
	g.turn.issued = append(g.turn.issued, o)
	return o.Number, nil
}

// cancel takes note that the guest gave up on an op. Numbers that name no open
// op mean nothing.
func (g *guest) cancel(number uint32) {
	if g.closeOp(number) {
		g.turn.cancelled = append(g.turn.cancelled, number)
	}
}

func (g *guest) closeOp(number uint32) bool {
	size, ok := g.open[number]
	if ok {
		g.openBytes -= size
		delete(g.open, number)
	}
	return ok
}

// refuseInWorkflow answers the immediate calls, which belong to activities.
func refuseInWorkflow(_ context.Context, name string, _ []byte) ([]byte, *abi.Error) {
	what := map[string]string{
		abi.ImportTxExec:  "SQL",
		abi.ImportTxQuery: "SQL",
		abi.ImportHTTP:    "HTTP",
		abi.ImportConfig:  "configuration",
	}[name]
	return nil, abi.Errorf(abi.CodeWrongContext, "%s is not available in execute: its answer would differ on replay", what).
		WithHint("Move it into an activity and call that.")
}

func (g *guest) start(ctx context.Context, inv abi.Invocation) (turnResult, error) {
	g.turn, g.logBytes = turnResult{}, 0
	t, err := g.inst.Start(ctx, abi.MustMarshal(&inv))
	return g.finishTurn(t, err)
}

func (g *guest) resume(ctx context.Context, deliveries []abi.Delivery, at int64) (turnResult, error) {
	g.turn, g.logBytes = turnResult{}, 0
	g.clock = at
	for _, d := range deliveries {
		g.closeOp(d.Op)
	}
	t, err := g.inst.Resume(ctx, abi.MustMarshal(&abi.Resume{Deliveries: deliveries, Time: at}))
	return g.finishTurn(t, err)
}

func (g *guest) finishTurn(t wasm.Turn, err error) (turnResult, error) {
	res := g.turn
	g.turn = turnResult{}
	if err != nil || t.Parked {
		return res, err
	}
	outcome, oerr := decodeOutcome(t.Output)
	if oerr != nil {
		return res, oerr
	}
	res.outcome = outcome
	return res, nil
}

func (g *guest) close() { _ = g.inst.Close() }

// decodeOutcome checks what a guest hands over at its end. The value comes back
// in canonical form.
func decodeOutcome(output []byte) (*abi.Outcome, *abi.Error) {
	out, err := decodeAs[abi.Outcome](output)
	if err != nil {
		return nil, err
	}
	if out.Error != nil {
		out.Value = nil
		clampError(out.Error)
		return out, nil
	}
	if len(out.Value) > abi.MaxPayload {
		return nil, abi.Errorf(abi.CodePayloadTooLarge, "the result has %d bytes, the limit is %d", len(out.Value), abi.MaxPayload)
	}
	canonical, cerr := abi.Canonical(out.Value)
	if cerr != nil {
		return nil, abi.Errorf(abi.CodeBadBody, "the result is not one msgpack value: %v", cerr)
	}
	out.Value = canonical
	return out, nil
}

// clampError bounds an error that came from a guest or a caller, so that a chatty
// one cannot fill journals, and makes its texts fit for every reader: the API
// speaks UTF-8 only, and codes are ours to give.
func clampError(e *abi.Error) {
	const most = 16 << 10
	e.Message = clampText(e.Message, most)
	e.Hint = clampText(e.Hint, most)
	e.Type = clampText(e.Type, abi.MaxName)
	if !errorCode.MatchString(string(e.Code)) {
		e.Code = ""
	}
	if len(e.Details) > 256<<10 {
		e.Details = nil
	}
}

var errorCode = regexp.MustCompile(`^CR-[0-9]{4}$`)

// clampText cuts a text to at most so many bytes, between two characters.
func clampText(text string, most int) string {
	if len(text) > most {
		const ellipsis = "…"
		cut := most - len(ellipsis)
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + ellipsis
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
