package stacks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	all := Parse(`goroutine 7 gp=0x1 m=0 mp=0x2 [running]:
main.(*T).run(0x1, {0x2, 0x3})
	/src/orders/main.go:12 +0x3
github.com/cruster/cruster/guest-sdk/go.Sleep(...)
	/sdk/sleep.go:9
created by main.main in goroutine 1
	/src/orders/main.go:3 +0x1

goroutine 8 [select (no cases) (durable), 2 minutes, locked to thread, synctest bubble 3]:
main.f[...](0x1)
	/src/orders/f.go:1 +0x3

no goroutine`)
	require.Equal(t, []Goroutine{
		{
			ID:     7,
			State:  "running",
			Parent: 1,
			Frames: []Frame{
				{"main.(*T).run", "/src/orders/main.go:12"},
				{"github.com/cruster/cruster/guest-sdk/go.Sleep", "/sdk/sleep.go:9"},
			},
		},
		{
			ID:      8,
			State:   "select (no cases)",
			Durable: true,
			Bubble:  "3",
			Frames:  []Frame{{"main.f[...]", "/src/orders/f.go:1"}},
		},
	}, all)
	require.Equal(t, " (in main.(*T).run orders/main.go:12)", all[0].Where())
	require.Equal(
		t,
		": goroutine 7, in main.(*T).run, waits (running) at orders/main.go:12; goroutine 8, in main.f[...], waits "+
			"(select (no cases)) at orders/f.go:1",
		WhoWaits([]Goroutine{all[1], all[0]}),
	)
	require.Empty(t, WhoWaits(nil))
}

func TestTake(t *testing.T) {
	t.Parallel()
	me, stack := Current()
	require.Equal(t, "running", me.State)
	require.Contains(t, stack, "TestTake")
	require.True(t, me.In("stacks.TestTake"))
	require.Equal(t, me.ID, Take()[0].ID)
}

// The author's line is shown however deep libraries are; a function that calls itself is shown once.
func TestChain(t *testing.T) {
	t.Parallel()
	library := func(n int) (calls []Frame) {
		for i := range n {
			calls = append(calls, Frame{Function: "lib.f", Place: fmt.Sprintf("/src/lib/f.go:%d", i)})
		}
		return calls
	}
	mine := Frame{Function: "main.mine", Place: "/src/shop/main.go:7"}
	const five = " (in lib.f lib/f.go:0 < lib.f lib/f.go:1 < lib.f lib/f.go:2 < lib.f lib/f.go:3 < lib.f lib/f.go:4"
	for want, calls := range map[string][]Frame{
		"": {{Function: "runtime.goexit", Place: "/go/asm.s:1"}},
		" (in lib.f lib/f.go:0 < main.mine shop/main.go:7)": append(library(1), mine, mine),
		five + " < main.mine shop/main.go:7)":               append(append(library(9), mine), library(2)...),
		five + " < lib.f lib/f.go:8)":                       library(9),
	} {
		require.Equal(t, want, Chain(calls))
	}
}
