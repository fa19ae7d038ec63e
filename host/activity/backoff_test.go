package activity

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/effects"
)

// TestBackoff reads testdata/backoff:
//
//	retry [base=DURATION] [backoff=KIND] [jitter=F random=F] failed=N:N:…
//
// prints the delay after each number of failed attempts;
//
//	conflict random=F n=N:N:… | store n=N:N:…
//
// prints the pauses before an attempt that does not count is repeated.
func TestBackoff(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/backoff", func(t *testing.T, d *datadriven.TestData) string {
		float := func(name string) (f float64) {
			if d.HasArg(name) {
				var text string
				d.ScanArgs(t, name, &text)
				_, err := fmt.Sscan(text, &f)
				require.NoError(t, err)
			}
			return f
		}
		counts := func(name string) (ns []uint32) {
			var text string
			d.ScanArgs(t, name, &text)
			for part := range strings.SplitSeq(text, ":") {
				var n uint32
				_, err := fmt.Sscan(part, &n)
				require.NoError(t, err)
				ns = append(ns, n)
			}
			return ns
		}
		random := func() float64 { return float("random") }
		var out strings.Builder
		switch d.Cmd {
		case "retry":
			r := abi.Retry{Jitter: float("jitter")}
			if d.HasArg("base") {
				var text string
				d.ScanArgs(t, "base", &text)
				base, err := time.ParseDuration(text)
				require.NoError(t, err)
				r.Base = int64(base)
			}
			if d.HasArg("backoff") {
				d.ScanArgs(t, "backoff", &r.Backoff)
			}
			for _, n := range counts("failed") {
				fmt.Fprintf(&out, "after %d: %v\n", n, Backoff(r, n, random))
			}
		case "conflict":
			for _, n := range counts("n") {
				fmt.Fprintf(&out, "%d: %v\n", n, conflictDelay(int(n), random))
			}
		case "host":
			for _, n := range counts("n") {
				fmt.Fprintf(&out, "%d: %v\n", n, effects.Delay(int(n), d.HasArg("called")))
			}
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
		}
		return out.String()
	})
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := abi.Retry{
			Base:    rapid.Int64Range(0, math.MaxInt64).Draw(t, "base"),
			Jitter:  rapid.Float64Range(0, 1).Draw(t, "jitter"),
			Backoff: rapid.SampledFrom([]string{"", abi.BackoffConstant, abi.BackoffExponential}).Draw(t, "backoff"),
		}
		_, refused := abi.DecodeOp(abi.OpActivity, abi.MustMarshal(&abi.Activity{Name: "a", Input: abi.Nil, Retry: r}))
		require.Nil(t, refused)
		random := func() float64 { return rapid.Float64Range(0, 1).Draw(t, "random") }
		d := Backoff(r, rapid.Uint32Min(1).Draw(t, "failed"), random)
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, abi.MaxBackoff)
	})
}
