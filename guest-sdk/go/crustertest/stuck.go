package crustertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// watch looks at the goroutines of a bubble whose turn has not come back, to tell whether it ever will.
//
// testing/synctest tells at once when all of a bubble wait for each other, except for things
// goroutines outside may release: locks, and channels and wait groups that were not made in the
// bubble. On a host there is no outside. In a test there may be: a test beside it that has the same
// lock, an activity, a goroutine of the test. So it is a deadlock if all that is in the bubble
// waits and no goroutine outside could release anything: none runs, sleeps or waits in code of the
// author, except in turns that are stuck alike. If one does, the turn is waited for as long as
// [TurnLimit] says.
//
// A snapshot of the goroutines is of one moment, since Go stops all of them for it. A deadlock must
// be seen twice, so that a short timer of the test (time.AfterFunc), which is no goroutine, has its
// chance.
type watch struct {
	bubble string
	seen   string // the deadlock that the last look found; empty if it found none
}

// How long a turn takes until the first look, and how long it is between later ones: twice as long each time.
const (
	firstLook   = 20 * time.Millisecond
	rarestLooks = time.Second
)

// look says why the turn does not come back. It is nil as long as the turn may; late says that it is not waited for any
// more.
func (w *watch) look(all []stacks.Goroutine, late bool) *abi.Error {
	inside, problem := judge(all, w.bubble, late)
	before := w.seen
	if w.seen = ""; problem != nil {
		w.seen = fmt.Sprint(inside)
	}
	if !late && w.seen != before {
		return nil
	}
	return problem
}

// judge says why a turn in a bubble does not come back; nil if it may. The first goroutine waits for the turn.
func judge(all []stacks.Goroutine, bubble string, late bool) (inside []stacks.Goroutine, problem *abi.Error) {
	var outside []stacks.Goroutine
	for i, g := range all {
		switch {
		case g.Bubble == bubble:
			inside = append(inside, g)
		case i > 0:
			outside = append(outside, g)
		}
	}
	if i := slices.IndexFunc(inside, func(g stacks.Goroutine) bool {
		return !isBlocked(g) && g.State != "sleep"
	}); i >= 0 {
		if !late {
			return inside, nil
		}
		return inside, abi.Errorf(
			abi.CodeGuestTimeout, "the module did not return from its turn before its deadline%s", inside[i].Where(),
		)
	}
	if !late && (isDurable(inside) || mayWake(outside)) {
		return inside, nil // testing/synctest sees to it, or someone outside
	}
	if slices.ContainsFunc(inside, func(g stacks.Goroutine) bool { return g.State == "sleep" }) {
		return inside, abi.Errorf(abi.CodeBlockingSleep, "the module tried to block%s", stacks.WhoSleeps(inside))
	}
	return inside, abi.Errorf(
		abi.CodeGuestDeadlock, "%s%s", abi.CodeGuestDeadlock.Info().Title, stacks.WhoWaits(inside),
	)
}

// isBlocked tells whether a goroutine goes on only if another one lets it.
func isBlocked(g stacks.Goroutine) bool {
	switch g.State {
	case "semacquire", "synctest.Run":
		return true
	}
	return strings.HasPrefix(g.State, "chan ") || strings.HasPrefix(g.State, "select") ||
		strings.HasPrefix(g.State, "sync.")
}

// isDurable tells whether testing/synctest knows that all of a bubble wait for each other. It moves the clock then.
func isDurable(bubble []stacks.Goroutine) bool {
	return !slices.ContainsFunc(bubble, func(g stacks.Goroutine) bool { return !g.Durable })
}

// mayWake tells whether one of the goroutines outside of a bubble could release a wait inside.
func mayWake(outside []stacks.Goroutine) bool {
	bubbles := map[string][]stacks.Goroutine{}
	for _, g := range outside {
		bubbles[g.Bubble] = append(bubbles[g.Bubble], g)
	}
	for number, all := range bubbles {
		kind, _ := known.Load(number)
		waitsOn := kind == left || kind == live && !isDurable(all)
		if slices.ContainsFunc(all, func(g stacks.Goroutine) bool { return mayAct(g, waitsOn) }) {
			return true
		}
	}
	return false
}

// mayAct tells whether a goroutine may go on by itself, in code of the author. waitsOn says that
// the waits in its bubble last until a release from outside.
func mayAct(g stacks.Goroutine, waitsOn bool) bool {
	switch {
	case len(g.Frames) == 0, g.In("os/signal.signal_recv"):
		return false
	case g.State == "running", g.State == "runnable":
		return true
	case isBlocked(g) &&
		(waitsOn || g.In("/crustertest.(*bubble).do") || strings.HasPrefix(g.Frames[0].Function, "testing.")):
		return false // the others wait for a turn in another bubble, or for other tests
	}
	return slices.ContainsFunc(g.Frames, stacks.Frame.IsAuthors)
}

// known has the bubbles of the kit by their numbers: live ones, and abandoned ones whose goroutines
// wait for good.
var known sync.Map

func init() {
	guest.IsWorkflows = func(bubble string) bool {
		_, is := known.Load(bubble)
		return is
	}
}

type bubbleState int

const (
	live bubbleState = iota + 1
	left
)
