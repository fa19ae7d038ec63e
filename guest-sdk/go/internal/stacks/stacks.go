// Package stacks reads the stacks of goroutines as Go writes them. The test kit says with it where a workflow hangs or
// crashes, in the words of a host, which reads the same of a module (host/wasm). It imports nothing of the SDK. Start
// with [Take].
package stacks

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Goroutine is one of a snapshot.
type Goroutine struct {
	ID int
	// State is its state: "running", "chan receive", "sync.Mutex.Lock".
	State string
	// Durable says that only its bubble of testing/synctest can wake it.
	Durable bool
	// Bubble is the number of that bubble; empty if it is in none.
	Bubble string
	// Parent is the goroutine that started it; 0 if unknown.
	Parent int
	// Frames are the calls that are under way, innermost first.
	Frames []Frame
}

// Frame is one call.
type Frame struct {
	// Function has its package: "orders.(*Book).sell".
	Function string
	// Place is the file and the line, "/src/orders/book.go:12".
	Place string
}

// Take takes a snapshot of all goroutines. The caller's comes first.
func Take() []Goroutine { return Parse(text(true)) }

// Current is the goroutine that calls, with its stack as Go writes it.
func Current() (g Goroutine, stack string) {
	stack = text(false)
	if all := Parse(stack); len(all) > 0 {
		g = all[0]
	}
	return g, stack
}

// ID is the number of the goroutine that calls.
func ID() int {
	var head [64]byte
	rest, _ := strings.CutPrefix(string(head[:runtime.Stack(head[:], false)]), "goroutine ")
	number, _, _ := strings.Cut(rest, " ")
	id, _ := strconv.Atoi(number)
	return id
}

func text(all bool) string {
	const most = 64 << 20
	for size := 1 << 16; ; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, all); n < size || size >= most {
			return string(buf[:n])
		}
	}
}

// Parse reads stacks.
func Parse(stacks string) []Goroutine {
	var all []Goroutine
	for part := range strings.SplitSeq(stacks, "\n\n") {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		if g, ok := parseHead(lines[0]); ok {
			g.Frames = parseFrames(lines[1:])
			g.Parent = parseParent(lines[1:])
			all = append(all, g)
		}
	}
	return all
}

// parseHead reads "goroutine 7 [chan receive (durable), 2 minutes, synctest bubble 3]:".
func parseHead(line string) (g Goroutine, ok bool) {
	rest, isHead := strings.CutPrefix(line, "goroutine ")
	number, rest, found := strings.Cut(rest, " ")
	id, err := strconv.Atoi(number)
	_, inside, opens := strings.Cut(rest, "[")
	closes := strings.LastIndexByte(inside, ']')
	if !isHead || !found || err != nil || !opens || closes < 0 {
		return g, false
	}
	parts := strings.Split(inside[:closes], ", ")
	g = Goroutine{ID: id, State: parts[0]}
	for {
		state, durable := strings.CutSuffix(g.State, " (durable)")
		state = strings.TrimSuffix(strings.TrimSuffix(state, " (scan)"), " (leaked)")
		g.Durable = g.Durable || durable
		if state == g.State {
			break
		}
		g.State = state
	}
	for _, part := range parts[1:] {
		if bubble, ok := strings.CutPrefix(part, "synctest bubble "); ok {
			g.Bubble = bubble
		}
	}
	return g, true
}

// parseFrames reads pairs of lines, "main.f(0x1)" and "\t/src/main.go:12 +0x3". The creator of the goroutine is left
// out.
func parseFrames(lines []string) (frames []Frame) {
	for i := 0; i+1 < len(lines) && !strings.HasPrefix(lines[i], "created by "); i += 2 {
		function := lines[i]
		if open := strings.LastIndexByte(function, '('); open > 0 {
			function = function[:open]
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		frames = append(frames, Frame{Function: function, Place: place})
	}
	return frames
}

// parseParent reads "created by main.f in goroutine 12".
func parseParent(lines []string) int {
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "created by "); ok {
			_, number, _ := strings.Cut(rest, " in goroutine ")
			id, _ := strconv.Atoi(number)
			return id
		}
	}
	return 0
}

// In tells whether a function is under way, by the end of its name.
func (g *Goroutine) In(function string) bool {
	return slices.ContainsFunc(g.Frames, func(f Frame) bool { return strings.HasSuffix(f.Function, function) })
}

// notAuthors are prefixes of functions that say nothing about the author's code.
var notAuthors = []string{
	"runtime.", "runtime/", "internal/", "sync.", "iter.", "panic", "testing.", "testing/", "time.",
}

// sdk is the guest SDK.
const sdk = "github.com/cruster/cruster/guest-sdk/go"

// IsAuthors tells whether a frame is the author's: neither of the SDK nor of its runner.
func (f Frame) IsAuthors() bool {
	if rest, ok := strings.CutPrefix(f.Function, sdk); ok && rest != "" &&
		(rest[0] == '.' || rest[0] == '/' || rest[0] == '_') {
		return strings.Contains(f.Place, "_test.go:")
	}
	return !slices.ContainsFunc(notAuthors, func(p string) bool { return strings.HasPrefix(f.Function, p) })
}

// IsRunner tells whether a frame is of the runner of the author's functions.
func (f Frame) IsRunner() bool {
	return strings.HasPrefix(f.Function, sdk+"/internal/guest.") && !f.IsAuthors()
}

// String is "orders.(*Book).sell orders/book.go:12".
func (f Frame) String() string { return f.Function + " " + short(f.Place) }

// Place is a line of a file, named with its folder only: "orders/book.go:12".
func Place(file string, line int) string { return short(file) + ":" + strconv.Itoa(line) }

func short(file string) string { return path.Join(path.Base(path.Dir(file)), path.Base(file)) }

// Bounds of messages, as on a host.
const (
	maxFrames   = 3
	maxChain    = 6
	maxWaits    = 21
	maxSleepers = 3
)

// Where says which of the author's functions a goroutine is in: " (in main.f a/main.go:12 < main.g a/main.go:30)". It
// is empty if it is in none.
func (g *Goroutine) Where() string {
	var names []string
	for _, f := range g.Frames {
		if f.IsAuthors() && len(names) < maxFrames {
			names = append(names, f.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (in " + strings.Join(names, " < ") + ")"
}

// Chain says as [Goroutine.Where] does which functions of the author and of libraries call each
// other, the innermost first. Libraries may call each other deeply: the innermost call of the
// package main is always shown, or else the outermost of all, as the last if need be. A call that
// repeats the one before is left out.
func Chain(calls []Frame) string {
	var names []string
	inMain := -1
	for _, f := range calls {
		name := f.String()
		if !f.IsAuthors() || len(names) > 0 && names[len(names)-1] == name {
			continue
		}
		if inMain < 0 && strings.HasPrefix(f.Function, "main.") {
			inMain = len(names)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	if inMain < 0 {
		inMain = len(names) - 1
	}
	if len(names) > maxChain {
		if inMain >= maxChain {
			names[maxChain-1] = names[inMain]
		}
		names = names[:maxChain]
	}
	return " (in " + strings.Join(names, " < ") + ")"
}

// WhoWaits says at which of the author's lines each goroutine waits: ": goroutine 7, in main.f,
// waits (chan receive) at a/main.go:12; goroutine 8, …". It leaves out goroutines without such a
// line, and the creator of the bubble.
func WhoWaits(all []Goroutine) string {
	return listed(waits(all, func(string) bool { return true }), maxWaits)
}

// WhoSleeps says as [WhoWaits] does which goroutines wait for time: sleeping ones, or else those
// waiting for the effect of a timer. Coroutines that wait for their turn do not.
func WhoSleeps(all []Goroutine) string {
	asleep := waits(all, func(state string) bool { return state == "sleep" })
	if len(asleep) == 0 {
		asleep = waits(all, func(state string) bool { return state != coroutine })
	}
	return listed(asleep, maxSleepers)
}

// coroutine is the state of a goroutine that waits for the SDK, as a module's own stacks have it.
const coroutine = "coroutine"

// waits says where the goroutines wait whose state is asked for.
func waits(all []Goroutine, asked func(state string) bool) (waits []string) {
	for _, g := range slices.SortedFunc(slices.Values(all), func(a, b Goroutine) int { return a.ID - b.ID }) {
		i := slices.IndexFunc(g.Frames, Frame.IsAuthors)
		state := g.State
		if g.In("/internal/guest.(*Coroutine).giveBack") {
			state = coroutine
		}
		if i >= 0 && g.State != "synctest.Run" && asked(state) {
			waits = append(
				waits,
				fmt.Sprintf(
					"goroutine %d, in %s, waits (%s) at %s", g.ID, g.Frames[i].Function, state,
					short(g.Frames[i].Place),
				),
			)
		}
	}
	return waits
}

func listed(waits []string, most int) string {
	if len(waits) == 0 {
		return ""
	}
	return ": " + strings.Join(waits[:min(len(waits), most)], "; ")
}
