package wasm_test

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// loopLines are the first and the last line between the marks of a loop of the probe.
func loopLines(t *testing.T, name string) (first, last int) {
	t.Helper()
	source, err := os.ReadFile("testdata/guests/probe/loops.go")
	require.NoError(t, err)
	lineOf := func(mark string) int {
		before, _, ok := bytes.Cut(source, []byte("// "+mark+` "`+name+`"`))
		require.True(t, ok, "%s %s", mark, name)
		return 1 + bytes.Count(before, []byte("\n"))
	}
	return lineOf("begin") + 1, lineOf("end") - 1
}

// TestAnEndlessLoopShowsItsLines: wherever in the loop fuel is out, the line is one of the loop, and not of
// the loops before and behind it. If it is out in a function that the loop calls, that is the line of the call.
func TestAnEndlessLoopShowsItsLines(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	for name, function := range map[string]string{
		"tight":     `main\.tight`,
		"middle":    `main\.middle`,
		"nested":    `main\.nested`,
		"closure":   `main\.closure\.func1`,
		"inlined":   `main\.small`,
		"leaf":      `main\.leaf`,
		"calls":     `main\.calls`,
		"library":   `main\.library`,
		"copies":    `main\.copies`,
		"method":    `main\.\(\*walker\)\.method`,
		"branches":  `main\.branches`,
		"straight":  `main\.straight`,
		"allocates": `main\.allocates`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, last := loopLines(t, name)
			called := ""
			switch name {
			case "calls":
				called = `(?:main\.collatz \(probe/loops\.go:\d+\) < )?`
			case "straight":
				called = `(?:main\.(?:mix|collatz) \(probe/loops\.go:\d+\) < )*`
			case "library":
				called = `(?:strings\.\S+ \([\w/]+\.go:\d+\) < )*`
			}
			shown := regexp.MustCompile(`^ \(in ` + called + function + ` \(probe/loops\.go:(\d+)\)(?: < |\)$)`)
			for n := range int64(25) {
				_, err := instantiate(t, m, wasm.World{Fuel: 1_000_000 + 6_007*n}).Start(
					context.Background(), []byte("loop "+name),
				)
				trap := requireTrap(t, err, abi.CodeGuestTimeout)
				require.Regexp(t, shown, trap.Place)
				line, err := strconv.Atoi(shown.FindStringSubmatch(trap.Place)[1])
				require.NoError(t, err)
				require.True(
					t, first <= line && line <= last, "the loop is from %d to %d, and this is shown: %s", first, last,
					trap.Place,
				)
			}
		})
	}
}

// TestAnEmptyLoopShowsItsLines: or the line of the condition that it depends on.
func TestAnEmptyLoopShowsItsLines(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	for name, function := range map[string]string{
		"only": `main\.only \(`, "behind": `main\.behind \(`,
		"counted": `main\.counted \(from `, "choice": `main\.choice \(from `, "one of": `main\.oneOf \(from `,
	} {
		first, last := loopLines(t, name)
		shown := regexp.MustCompile(`^ \(in ` + function + `probe/loops\.go:(\d+)\) < `)
		for n := range int64(10) {
			_, err := instantiate(t, m, wasm.World{Fuel: 1_000_000 + 3*n}).Start(
				context.Background(), []byte("empty "+name),
			)
			trap := requireTrap(t, err, abi.CodeGuestTimeout)
			require.Regexp(t, shown, trap.Place)
			line, err := strconv.Atoi(shown.FindStringSubmatch(trap.Place)[1])
			require.NoError(t, err)
			require.True(
				t, first <= line && line <= last, "the loop is from %d to %d, and this is shown: %s", first, last,
				trap.Place,
			)
		}
	}
}

// TestAnInlinedFunctionIsShownWithItsCaller: as if it had been called.
func TestAnInlinedFunctionIsShownWithItsCaller(t *testing.T) {
	t.Parallel()
	_, err := newProbe(t, wasm.World{Fuel: 3_000_000}).Start(context.Background(), []byte("loop inlined"))
	trap := requireTrap(t, err, abi.CodeGuestTimeout)
	require.Contains(t, trap.Place, ") < main.inlined ("+lineIn(t, "probe/loops.go", "inlined")+")")
}
