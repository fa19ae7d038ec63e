package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
)

// Eventually calls ok until it returns true. The condition must become true by itself; how soon does not matter to the
// test.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-deadline.C:
			require.FailNow(t, "the condition never became true", "%s", what)
		}
	}
}

const (
	fewestTries = 20
	// triesFor is how long more tries are made.
	triesFor = 5 * time.Minute
	// mostTries bounds them: a rarer event does not depend on the machine alone.
	mostTries = 200
)

// TryUntil calls try, with numbers from 0 on, until it returns true. It is for outcomes that depend
// on the load of the machine: a try with another outcome must be harmless, and is made again. There
// are at least 20 tries, however slow the machine is; within five minutes there are more, and at
// most 200. If it took more than one, the log says how many.
func TryUntil(t testing.TB, what string, try func(n int) bool) {
	t.Helper()
	n, begun := 0, time.Now()
	for ; n < fewestTries || n < mostTries && time.Since(begun) < triesFor; n++ {
		if !try(n) {
			continue
		}
		if n > 0 {
			t.Logf("%s: %d tries", what, n+1)
		}
		return
	}
	require.FailNow(t, "no try came to it", "%s: %d tries in %s", what, n, time.Since(begun))
}

// Pending waits until an execution has a pending op of this kind and name.
func Pending(t testing.TB, e *host.Engine, execution, kind, name string) {
	t.Helper()
	Eventually(t, execution+" waits for "+kind+" "+name, func() bool {
		d, err := e.Observer().Describe(t.Context(), "", execution)
		if err != nil {
			return false
		}
		for _, p := range d.Pending {
			if p.Kind == kind && p.Name == name {
				return true
			}
		}
		return false
	})
}
