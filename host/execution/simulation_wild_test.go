package execution

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// children are the workflows that the one of a random life calls and sends. slow and nest do not end in a life unless
// they are asked to, or ended.
var children = map[string]threads{
	"c":    {{{sleepOf(1)}}},
	"slow": {{{sleepOf(3600), {abi.OpInterrupted, abi.MustMarshal(&abi.Interrupted{})}}}},
	// nest gives up its own callee when it is asked to stop, or ended.
	"nest": {{{callOf("slow", "y", abi.OnCancelCancel), {abi.OpInterrupted, abi.MustMarshal(&abi.Interrupted{})}}}},
	// back finds its caller, and does not wait for long: nothing else would end the circle.
	"back": {{{callOf("w", "k", abi.OnCancelAbandon), sleepOf(5)}}},
}

// codeOf is the code of a workflow.
func (w *world) codeOf(workflow string) threads {
	name := strings.TrimPrefix(workflow, "scripts/")
	if name == "w" {
		return w.code
	}
	return children[name]
}

func sleepOf(seconds int64) call {
	return call{abi.OpSleep, abi.MustMarshal(&abi.Sleep{Duration: seconds * 1e9})}
}

func callOf(workflow, key, policy string) call {
	return call{abi.OpCall, abi.MustMarshal(&abi.Call{Workflow: workflow, Key: key, OnCancel: policy, Input: abi.Nil})}
}

// goWild adds to a life what runs do to each other, and what ends and replaces them.
func (l *life) goWild(random *rand.Rand) {
	l.picky, l.cramped = random.IntN(4) == 0, random.IntN(4) == 0
	for _, thread := range l.code {
		for i := range thread {
			if random.IntN(3) == 0 {
				thread[i] = append(thread[i][:len(thread[i])-1], drawReach(random))
			}
			if random.IntN(4) == 0 {
				thread[i] = append(thread[i], sleepOf(int64(random.IntN(3)))) // which gives up the others
			}
		}
	}
	for i := range l.events {
		if random.IntN(5) < 2 {
			l.events[i] = drawEnding(random)
		}
	}
	if l.picky {
		l.events[0] = "move m0"
	}
	if random.IntN(40) == 0 { // it takes a while
		l.events = append([]string{"flood"}, l.events...)
	}
}

// drawReach draws an op by which a run reaches another one, or itself.
func drawReach(random *rand.Rand) call {
	target := fmt.Sprint("scripts/", []string{"w/k", "w/k", "w/f0", "slow/x0", "nest/x0", "w/none"}[random.IntN(6)])
	switch random.IntN(12) {
	case 0, 1:
		value := abi.MustMarshal(random.IntN(1 << 30))
		return call{
			abi.OpSignal,
			abi.MustMarshal(&abi.Signal{Execution: target, Name: fmt.Sprint("s", random.IntN(2)), Value: value}),
		}
	case 2:
		b := &abi.Resolve{
			Execution: target, Name: fmt.Sprint("d", random.IntN(promises)), Value: abi.MustMarshal("by a run"),
		}
		if random.IntN(2) == 0 {
			b.Execution = ""
		}
		return call{abi.OpResolve, abi.MustMarshal(b)}
	case 3:
		return call{abi.OpInterrupt, abi.MustMarshal(&abi.Interrupt{Execution: target, Reason: "a run says so"})}
	case 4:
		return call{abi.OpPoll, abi.MustMarshal(&abi.Poll{Execution: target})}
	case 5:
		return call{
			abi.OpSend, abi.MustMarshal(&abi.Call{Workflow: "c", Key: fmt.Sprint("x", random.IntN(2)), Input: abi.Nil}),
		}
	default:
		workflow := []string{"c", "slow", "slow", "nest", "back"}[random.IntN(5)]
		policy := []string{"", abi.OnCancelAbandon, abi.OnCancelCancel, abi.OnCancelTerminate}[random.IntN(4)]
		return callOf(workflow, fmt.Sprint("x", random.IntN(2)), policy)
	}
}

// drawEnding draws what ends a run, or comes behind its end.
func drawEnding(random *rand.Rand) string {
	key := []string{"k", "k", "k", "f0"}[random.IntN(4)]
	switch random.IntN(16) {
	case 14, 15:
		return fmt.Sprintf(
			"unheard %s %s", []string{"lose", "panic", "late"}[random.IntN(3)],
			[]string{"start-over", "delete"}[random.IntN(2)],
		)
	case 0, 1:
		return "terminate " + key
	case 2:
		return "terminate-child " + []string{"c/x0", "slow/x0", "nest/x0", "slow/y"}[random.IntN(4)]
	case 3, 4, 5, 6:
		return "fail " + key
	case 7:
		return "delete " + key
	case 8, 9:
		return "start-over " + key
	case 10, 11:
		return fmt.Sprintf("purge %d", 1+random.IntN(20))
	case 12:
		return "drain"
	default:
		return fmt.Sprintf("advance %ds", random.IntN(20))
	}
}

// dressed is the body of an op of this run. A signal says by which run it was sent; a fork says the same as its source,
// or it would do something else than the journal says.
func (g *threadsGuest) dressed(c call) []byte {
	if c.kind != abi.OpSignal {
		return c.body
	}
	var b abi.Signal
	if err := abi.Unmarshal(c.body, &b); err != nil {
		panic(err)
	}
	b.Value = abi.MustMarshal(fmt.Sprintf("%s%s by %s", fromRun, outcomeText(b.Value, nil), seedText(g.row)))
	return abi.MustMarshal(&b)
}

func seedText(row *journal.Execution) string { return row.Pinned.Seed.String()[:8] }

// fromRun begins the values of signals that runs send.
const fromRun = "run: "

// unreadable tells whether the code of the run cannot read the deliveries.
func (g *threadsGuest) unreadable(deliveries []abi.Delivery) bool {
	if !g.world.picky || g.row.Digest != "m0" {
		return false
	}
	for _, d := range deliveries {
		if o := g.issued[d.Op]; o != nil && o.Kind == abi.OpActivity && o.Name == "a1" && d.Error == nil {
			return true
		}
	}
	return false
}

// pending are the ops that the guest waits for.
func (g *threadsGuest) pending() (all []*op.Op) {
	for thread := range g.code {
		for _, number := range g.waitedFor(thread) {
			all = append(all, g.issued[number])
		}
	}
	return all
}

// ended tells whether a row was ended from outside of its code.
func ended(row *journal.Execution) bool {
	if row.Error == nil {
		return false
	}
	code := row.Error.Code
	return row.State == journal.Interrupted && code == abi.CodeTerminated ||
		row.State == journal.Failed && code == abi.CodeFailedByOperator
}
