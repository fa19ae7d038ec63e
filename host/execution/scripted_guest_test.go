package execution

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// scripted is a guest that follows a script: each turn it executes the next line, whatever it is
// told.
type scripted struct {
	f     *fixture
	name  string
	lines []string
	clock int64
	ops   uint32
	seen  op.Occurrences
}

func (f *fixture) open(_ context.Context, row *journal.Execution) (Opening, error) {
	f.mu.Lock()
	meanwhile := f.opening
	f.opening = nil
	f.mu.Unlock()
	if meanwhile != nil {
		meanwhile()
		time.Sleep(time.Nanosecond) // until nothing else moves
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missing {
		return Opening{}, abi.Errorf(abi.CodeModuleNotFound, "the script is gone")
	}
	_, name, _ := strings.Cut(row.Workflow, "/")
	lines := f.scripts[name]
	if row.Digest != "script" {
		lines = f.scripts[name+"@"+row.Digest]
	}
	g := &scripted{f: f, name: name, lines: lines, clock: row.CreatedAt, seen: op.Occurrences{}}
	return Opening{Bytes: 1, Open: func(context.Context, guest.Memory) (Guest, error) { return g, nil }}, nil
}

func (g *scripted) Start(ctx context.Context) (guest.Turn, error) {
	wasm.Taken(ctx)
	return g.take("start")
}

func (g *scripted) Resume(ctx context.Context, r abi.Resume) (guest.Turn, error) {
	wasm.Taken(ctx)
	if g.f.isSlow() {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return guest.Turn{}, abi.Errorf(abi.CodeGuestTimeout, "the turn took too long")
		}
	}
	g.clock = r.Time
	var told []string
	for _, d := range r.Deliveries {
		told = append(told, fmt.Sprintf("op %d: %s", d.Op, outcomeText(d.Value, d.Error)))
	}
	return g.take(strings.Join(told, ", "))
}

// isSlow tells whether a call of a guest takes long.
func (f *fixture) isSlow() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow--
	return f.slow >= 0
}

// takeSlots has other guests take all slots, or leave them.
func (f *fixture) takeSlots(take bool) {
	if !take {
		close(f.crowd)
		return
	}
	f.crowd = make(chan struct{})
	for range 2 * runtime.GOMAXPROCS(0) {
		go func() {
			_ = f.x.Slots.Compute(context.Background(), func(context.Context) error {
				<-f.crowd
				return nil
			})
		}()
	}
}

func (g *scripted) Save() (*guest.Saved, error) { return nil, wasm.ErrNoState }

// Query implements Guest: it returns the next line of the script. An update with "no" would be
// refused. It takes as long as the caller says.
func (g *scripted) Query(ctx context.Context, q *abi.Query) (guest.Turn, error) {
	turn := guest.Turn{Outcome: &abi.Outcome{Value: abi.MustMarshal(g.lines[0])}, Fuel: 7}
	switch {
	case q.Update:
		g.f.note(g.name, "guest is asked whether it takes %s", q.Name)
		if string(q.Input) == string(abi.MustMarshal("no")) {
			turn.Outcome = &abi.Outcome{Error: &abi.Error{Message: "it does not want to"}}
		}
	case q.Name == "endless":
		<-ctx.Done()
		return guest.Turn{Fuel: 7}, abi.Errorf(abi.CodeGuestTimeout, "the answer took too long")
	default:
		g.f.note(g.name, "guest is asked %s", q.Name)
	}
	return turn, nil
}

func (g *scripted) Close() { g.f.note(g.name, "instance dropped") }

func (g *scripted) take(told string) (guest.Turn, error) {
	g.f.note(g.name, "guest %s", told)
	g.f.mu.Lock()
	trap := g.f.traps > 0
	if trap {
		g.f.traps--
	}
	g.f.mu.Unlock()
	if trap { // behind the log of the line
		var turn guest.Turn
		for action := range strings.SplitSeq(strings.Join(g.lines[:min(1, len(g.lines))], ""), ";") {
			if words := strings.Fields(action); len(words) > 0 && words[0] == "log" {
				g.act(&turn, words)
			}
		}
		return turn, &wasm.Trap{Err: abi.Errorf(abi.CodeGuestTrap, "index out of range")}
	}
	if len(g.lines) == 0 {
		return guest.Turn{}, abi.Errorf(abi.CodeGuestProtocol, "the script is over")
	}
	var turn guest.Turn
	for action := range strings.SplitSeq(g.lines[0], ";") {
		g.act(&turn, strings.Fields(action))
	}
	g.lines = g.lines[1:]
	return turn, nil
}

// logPrefix begins what guests log.
const logPrefix = "guest: "

// act does one action of a script.
func (g *scripted) act(turn *guest.Turn, words []string) {
	verb, rest := words[0], strings.Join(words[1:], " ")
	switch verb {
	case "park":
	case "log":
		turn.Log = append(turn.Log, guest.LogLine{Level: abi.LogInfo, Message: logPrefix + rest})
	case "cancel":
		n, err := strconv.ParseUint(rest, 10, 32)
		require.NoError(g.f.t, err)
		turn.Cancelled = append(turn.Cancelled, uint32(n))
	case "done":
		turn.Outcome = &abi.Outcome{Value: abi.MustMarshal(rest)}
	case "continue": // the names are of signals that were not looked at
		turn.Outcome = &abi.Outcome{Continue: &abi.Continue{Input: abi.Nil, Unread: words[1:]}}
	case "failed":
		turn.Outcome = &abi.Outcome{Error: &abi.Error{Message: rest}}
	case "stop":
		turn.Outcome = &abi.Outcome{Error: abi.Errorf(abi.CodeInterrupted, "interrupted")}
	default:
		verb, givenUp := strings.CutSuffix(verb, "!")
		g.ops++
		o, err := op.New(verb, g.body(verb, words[1:]), g.ops, g.clock)
		require.Nil(g.f.t, err)
		g.seen.Count(o)
		turn.Issued = append(turn.Issued, o)
		if givenUp {
			turn.Cancelled = append(turn.Cancelled, o.Number)
		}
	}
}

func (g *scripted) body(kind string, words []string) []byte {
	name := strings.Join(words[:min(len(words), 1)], "")
	switch kind {
	case abi.OpSleep:
		d, err := time.ParseDuration(name)
		require.NoError(g.f.t, err)
		return abi.MustMarshal(&abi.Sleep{Duration: int64(d)})
	case abi.OpActivity:
		b := &abi.Activity{Name: name, Input: abi.Nil, Retry: abi.Retry{Base: int64(time.Second)}}
		for _, word := range words[1:] {
			if input, ok := strings.CutPrefix(word, "input="); ok {
				b.Input = abi.MustMarshal(input)
				continue
			}
			n, err := strconv.ParseUint(strings.TrimPrefix(word, "retries="), 10, 32)
			require.NoError(g.f.t, err)
			b.Retry.Retries = uint32(n)
		}
		return abi.MustMarshal(b)
	case abi.OpDeferred:
		return abi.MustMarshal(&abi.Deferred{Name: name})
	case abi.OpInterrupted:
		return abi.MustMarshal(&abi.Interrupted{})
	case abi.OpPatched:
		return abi.MustMarshal(&abi.Patched{ID: name})
	case abi.OpCall, abi.OpSend:
		return abi.MustMarshal(&abi.Call{Workflow: name, Input: abi.Nil, OnCancel: strings.Join(words[1:], " ")})
	case abi.OpInterrupt:
		return abi.MustMarshal(&abi.Interrupt{Execution: name, Reason: strings.Join(words[1:], " ")})
	case abi.OpResolve:
		return abi.MustMarshal(&abi.Resolve{Name: name, Value: abi.MustMarshal("resolved inside")})
	case abi.OpReceive:
		return abi.MustMarshal(&abi.Receive{Name: name})
	case abi.OpSignal:
		return abi.MustMarshal(&abi.Signal{Execution: words[1], Name: name, Value: abi.MustMarshal("sent inside")})
	case abi.OpEntityCall, abi.OpEntitySend:
		return abi.MustMarshal(&abi.EntityMessage{Entity: words[1], Operation: name, Input: abi.Nil})
	case abi.OpLock:
		return abi.MustMarshal(&abi.Lock{Entities: words})
	case abi.OpUnlock:
		return abi.MustMarshal(&abi.Unlock{})
	case abi.OpPoll:
		return abi.MustMarshal(&abi.Poll{Execution: name})
	case abi.OpUpdate:
		return abi.MustMarshal(&abi.Update{})
	case abi.OpAnswer:
		return answerBody(name, strings.Join(words[1:], " "))
	case abi.OpPublish:
		return publishBody(words)
	}
	require.FailNow(g.f.t, "unknown action", kind)
	return nil
}
