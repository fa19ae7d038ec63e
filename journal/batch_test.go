package journal

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestBatch tests the decisions of the committer. The commands:
//
//	cut max-writes=N max-bytes=N    sizes of queued writes → the batches
//	after-failure                   lines "sort writes=N tries=N" → what to do
//	alone                           outcomes of writes that are tried alone, ok or fail → how many are tried
func TestBatch(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/batch", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "cut":
			return cutAll(t, d)
		case "after-failure":
			return failures(t, d.Input)
		case "alone":
			return alone(d.Input)
		}
		return "unknown command"
	})
}

func cutAll(t *testing.T, d *datadriven.TestData) string {
	var maxWrites, maxBytes int
	d.ScanArgs(t, "max-writes", &maxWrites)
	d.ScanArgs(t, "max-bytes", &maxBytes)
	var sizes []int
	for _, text := range strings.Fields(d.Input) {
		size, err := strconv.Atoi(text)
		require.NoError(t, err)
		sizes = append(sizes, size)
	}
	var out strings.Builder
	for len(sizes) > 0 {
		n := cutBatch(slices.Values(sizes), maxWrites, maxBytes)
		require.Positive(t, n)
		fmt.Fprintln(&out, sizes[:n])
		sizes = sizes[n:]
	}
	require.Zero(t, cutBatch(slices.Values(sizes), maxWrites, maxBytes), "of nothing, nothing")
	return out.String()
}

func failures(t *testing.T, input string) string {
	sorts := map[string]error{
		"conflict":           fmt.Errorf("deadlock: %w", ErrConflict),
		"undecided":          fmt.Errorf("reset by peer: %w", ErrUndecided),
		"conflict+undecided": errors.Join(ErrConflict, ErrUndecided),
		"unavailable":        fmt.Errorf("no connection: %w", ErrUnavailable),
		"other":              errors.New("value too odd"),
	}
	var out strings.Builder
	for _, line := range strings.Split(input, "\n") {
		var sort string
		var writes, tries int
		_, err := fmt.Sscanf(line, "%s writes=%d tries=%d", &sort, &writes, &tries)
		require.NoError(t, err, line)
		require.Contains(t, sorts, sort)
		next, pause := afterFailure(sorts[sort], writes, tries)
		fmt.Fprintf(&out, "%s: %s", line, next)
		if pause > 0 {
			fmt.Fprintf(&out, " after %s", pause)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func alone(input string) string {
	tried, failed := 0, 0
	for _, outcome := range strings.Fields(input) {
		tried++
		if failed++; outcome == "ok" {
			failed = 0
		}
		if storeIsDown(failed) {
			return fmt.Sprintf("%d tried, then the store counts as down\n", tried)
		}
	}
	return fmt.Sprintf("%d tried\n", tried)
}
