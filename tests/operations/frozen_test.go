package ops_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

// freeze is how long a host is stopped at a time: longer than the limits of its guests, so that a limit on the wall
// clock has passed when the host runs again.
const freeze = 1200 * time.Millisecond

// TestFrozenHostFailsNothing stops a real host under load, again and again, for longer than its guests may take. Its
// guests did nothing meanwhile, so none of them is late: every workflow completes, although none of its steps is ever
// tried twice.
func TestFrozenHostFailsNothing(t *testing.T) {
	t.Parallel()
	at := onSQLite(t)
	p := at.host(t, "--activity-timeout", "1s", "--turn-timeout", "1s")
	push(t, p)
	l := startLoadOf(t, p, func(run string) object { return object{"run": run, "n": steps} })
	for n := range 5 {
		count := l.count()
		harness.Eventually(t, "there is load", func() bool { return l.count() > count+5 })
		p.Signal(syscall.SIGSTOP)
		time.Sleep(freeze) // the test is that this time passes
		p.Signal(syscall.SIGCONT)
		t.Logf("frozen %d times", n+1)
	}
	c := dial(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	for _, name := range l.stop() {
		got, err := client.Attach[int](c, name).Wait(ctx)
		require.NoError(t, err, name)
		require.Equal(t, sum, got, name)
	}
}
