package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCommandsSayWhatTheyWaitFor makes calls that the host answers after two looks at the obstacle.
// An unchanged wait is reported once.
func TestCommandsSayWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, waiting, out string }{
		{
			"workflow interrupt shop/Buy/computing",
			"waiting: the code of shop/Buy/computing has been computing since 2026-01-31 12:00:00.000Z; the request " +
				"is taken when its turn ends\n",
			"asked to stop: shop/Buy/computing\n",
		},
		{
			"entity call bank/Account/eve deposit",
			"waiting: bank/Account/eve has been locked by bank/Transfer/3 since 2023-11-14 22:13:21.000Z; the call is " +
				"performed when the lock is released\n",
			"{\n  \"cents\": 500\n}\n",
		},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			fake := &fakeHost{looks: make(chan struct{}, 2)}
			addr := fake.start(t)
			var out, errs strings.Builder
			code := Run(t.Context(), Process{
				Args: words(c.command), LookupEnv: environment("CRUSTER_ADDR=" + addr),
				Stderr: &errs, Stdin: strings.NewReader(""), Stdout: &out, quiet: time.Nanosecond,
			})
			require.Zero(t, code, errs.String())
			require.Equal(t, c.waiting, errs.String())
			require.Equal(t, c.out, out.String())
		})
	}
}
