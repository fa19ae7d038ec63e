package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// life is a schedule in a test of its actions: the input of a command are lines such as "to 03:00",
// and the output are the actions of the schedule.
type life struct {
	t      *testing.T
	s      journal.Schedule
	now    int64
	refuse bool
	out    strings.Builder
}

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestLives shows the actions of schedules as time goes by.
func TestLives(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/lives", func(t *testing.T, path string) {
		var l *life
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "schedule" {
				l = newLife(t, d)
			}
			l.t = t
			l.out.Reset()
			for line := range strings.Lines(d.Input) {
				l.do(strings.Fields(line))
			}
			fmt.Fprintln(&l.out, l.summary())
			return l.out.String()
		})
	})
}

func newLife(t *testing.T, d *datadriven.TestData) *life {
	spec := journal.ScheduleSpec{Workflow: "a/B"}
	for _, arg := range d.CmdArgs {
		value := ""
		if len(arg.Vals) > 0 {
			value = arg.Vals[0]
		}
		switch arg.Key {
		case "overlap":
			spec.Overlap = journal.Overlap(value)
		case "every":
			spec.Every = length(t, value)
		case "catch-up":
			spec.CatchUp = length(t, value)
		case "always":
			spec.Always = true
		case "min":
			spec.RestartMin = length(t, value)
		case "max":
			spec.RestartMax = length(t, value)
		case "max-queued":
			spec.MaxQueued = int(number(t, value))
		case "max-runs":
			spec.MaxRuns = number(t, value)
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	spec, err := normalize(spec)
	require.NoError(t, err)
	l := &life{t: t, now: newYear.UnixNano(), s: journal.Schedule{Namespace: "default", Name: "s", Spec: spec}}
	l.s.State.Last = l.now
	if spec.Always {
		l.s.State.Next = l.now
	}
	l.advance()
	return l
}

func length(t *testing.T, text string) int64 {
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return int64(d)
}

func number(t *testing.T, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

// clock reads HH:MM or HH:MM:SS; the hours go on behind 23.
func (l *life) clock(text string) int64 {
	parts := strings.Split(text, ":")
	sum := time.Duration(0)
	for i, part := range parts {
		sum += time.Duration(number(l.t, part)) * []time.Duration{time.Hour, time.Minute, time.Second}[i]
	}
	return newYear.Add(sum).UnixNano()
}

func (l *life) show(at int64) string {
	switch at {
	case journal.Now:
		return "now"
	case journal.Never:
		return "never"
	}
	d := time.Unix(0, at).Sub(newYear)
	text := fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60)
	if d%time.Minute != 0 {
		text += fmt.Sprintf(":%02d", int(d.Seconds())%60)
	}
	return text
}

func (l *life) plan() *plan {
	p, err := newPlan(&l.s, l.now)
	require.NoError(l.t, err)
	return p
}

func (l *life) do(words []string) {
	p := l.plan()
	switch words[0] {
	case "to":
		l.now = l.clock(words[1])
	case "over": // the oldest run that is open
		state := journal.Completed
		if len(words) > 1 {
			state = journal.State(words[1])
		}
		if len(l.s.State.Open) == 0 {
			fmt.Fprintln(&l.out, "nothing is open")
			return
		}
		p.over(l.s.State.Open[0].Execution, state, l.now)
	case "refuse":
		l.refuse = words[1] == "on"
	case "pause":
		p.State.Paused = true
	case "resume":
		p.State.Paused, p.State.Last = false, max(p.State.Last, l.now)
	case "trigger":
		execution := p.executionOf(start{cause: journal.CauseTrigger, request: words[1]})
		if err := p.trigger(execution, words[1]); err != nil {
			fmt.Fprintln(&l.out, err)
		}
	case "backfill":
		overlap := journal.Overlap("")
		if len(words) > 3 {
			overlap = journal.Overlap(words[3])
		}
		n, err := p.backfill(l.clock(words[1]), l.clock(words[2]), overlap)
		if err != nil {
			fmt.Fprintln(&l.out, err)
			return
		}
		fmt.Fprintln(&l.out, n, "ticks")
	default:
		l.t.Fatalf("unknown line %v", words)
	}
	l.advance()
}

// advance performs the actions of the schedule.
func (l *life) advance() {
	p := l.plan()
	for {
		act := p.next()
		switch {
		case act.kind == actStart && l.refuse:
			fmt.Fprintf(&l.out, "refused %s %s\n", act.start.cause, l.show(act.start.at))
			p.refused(act.start, abi.Errorf(abi.CodeUnknownWorkflow, "gone"))
		case act.kind == actStart:
			fmt.Fprintf(&l.out, "start %s %s\n", act.start.cause, l.show(act.start.at))
			p.started(act.start, journal.Running)
		case act.kind == actInterrupt:
			fmt.Fprintf(&l.out, "interrupt %s\n", l.show(p.State.Open[act.interrupt].At))
			p.State.Open[act.interrupt].Interrupted = true
		case act.kind == actNothing:
			return
		}
	}
}

func (l *life) summary() string {
	p := l.plan()
	var waiting []string
	for _, w := range l.s.State.Waiting {
		waiting = append(waiting, l.show(w.At))
	}
	st := &l.s.State
	text := fmt.Sprintf(
		"%d started, %d skipped, %d missed, %d refused, %d open, wake %s", st.Started, st.Skipped, st.Missed,
		st.Refused, len(st.Open), l.show(p.wakeAt()),
	)
	if len(waiting) > 0 {
		text += ", waiting " + strings.Join(waiting, " ")
	}
	return text
}
