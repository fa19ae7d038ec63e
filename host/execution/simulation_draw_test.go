package execution

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
)

const promises = 3 // deferreds that code waits for

// drawLife draws a life.
func drawLife(seed uint64) life {
	random := rand.New(rand.NewPCG(seed, 0))
	l := drawPlain(seed, random)
	l.hasty = random.IntN(4) == 0
	l.renewals = max(0, random.IntN(6)-3)
	if l.sql = random.IntN(3) == 0; l.sql {
		l.useSQL(random)
	}
	if random.IntN(2) == 0 {
		l.goWild(random)
	}
	if random.IntN(3) == 0 {
		l.askEntities(random)
	}
	if l.slow = random.IntN(4) == 0; l.cramped {
		l.places = 2 + random.Int64N(3)
	}
	return l
}

// useSQL makes it likely that several transactions have committed when the host dies, and the run has not been
// told of them.
func (l *life) useSQL(random *rand.Rand) {
	for len(l.code) < 3 {
		l.code = append(l.code, []step{{drawActivity(random)}, {drawActivity(random)}})
	}
	for _, thread := range l.code {
		for _, s := range thread {
			if random.IntN(2) == 0 {
				s[0] = drawActivity(random)
			}
		}
	}
	for i := range l.events {
		switch random.IntN(4) {
		case 0:
			l.events[i] = fmt.Sprintf("advance %dms", random.IntN(600))
		case 1:
			l.events[i] = "crash 0ms"
		}
	}
}

// drawPlain draws a life as lives were drawn at first.
func drawPlain(seed uint64, random *rand.Rand) life {
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
	switch random.IntN(14) {
	case 11, 12, 13:
		return call{abi.OpUpdate, abi.MustMarshal(&abi.Update{})}
	case 9, 10:
		return call{abi.OpReceive, abi.MustMarshal(&abi.Receive{Name: fmt.Sprint("s", random.IntN(2))})}
	case 0:
		return call{
			abi.OpSleep, abi.MustMarshal(&abi.Sleep{Duration: int64(time.Duration(random.IntN(5)) * time.Second)}),
		}
	case 1, 2:
		return call{abi.OpDeferred, abi.MustMarshal(&abi.Deferred{Name: fmt.Sprint("d", random.IntN(promises))})}
	case 3:
		return call{abi.OpInterrupted, abi.MustMarshal(&abi.Interrupted{})}
	case 4:
		return call{abi.OpPatched, abi.MustMarshal(&abi.Patched{ID: "p"})}
	case 5:
		return call{abi.OpCall, abi.MustMarshal(&abi.Call{Workflow: "c", Input: abi.Nil})}
	default:
		return drawActivity(random)
	}
}

func drawActivity(random *rand.Rand) call {
	b := &abi.Activity{
		Name: fmt.Sprint("a", random.IntN(2)), Input: abi.Nil, Retry: abi.Retry{Base: int64(time.Second), Retries: 3},
	}
	return call{abi.OpActivity, abi.MustMarshal(b)}
}

// panics are the points at which the host may panic while it works one execution.
var panics = []string{
	faultpoint.TurnBeforeCommit, faultpoint.TurnAfterCommit, faultpoint.TurnAfterEffects, faultpoint.SettleBeforeCommit,
	faultpoint.SettleAfterCommit, faultpoint.SignalBeforeCommit, faultpoint.SignalAfterCommit,
	faultpoint.InterruptAfterCommit,
	faultpoint.UpdateBeforeCommit, faultpoint.UpdateAfterCommit, faultpoint.AnswerBeforeCommit,
	faultpoint.AnswerAfterCommit,
	faultpoint.RetryBeforeCommit, faultpoint.RetryAfterCommit,
	faultpoint.MoveBeforeCommit, faultpoint.MoveAfterCommit, faultpoint.PauseBeforeCommit, faultpoint.CallAfter,
	faultpoint.AheadBeforeCommit, faultpoint.AheadAfterCommit, faultpoint.LinkAfterCommit, faultpoint.Replay,
	faultpoint.FinalAfterCommit, faultpoint.ResumeAfterCommit,
}

func drawEvent(random *rand.Rand) string {
	switch random.IntN(25) {
	case 20, 21, 22:
		return "update"
	case 23, 24:
		return "update again"
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
