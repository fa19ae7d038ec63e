package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
)

// Eventually asks until the answer is yes. What is asked must become true by
// itself; how soon is no matter of the test.
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
			require.FailNow(t, "it never came to be", "%s", what)
		}
	}
}

// Pending waits until an execution waits for an op of this kind and name.
func Pending(t testing.TB, e *host.Engine, execution, kind, name string) {
	t.Helper()
	Eventually(t, execution+" waits for "+kind+" "+name, func() bool {
		d, err := e.Describe(t.Context(), "", execution)
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
