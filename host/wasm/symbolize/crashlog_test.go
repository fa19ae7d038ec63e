package symbolize

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCrashLogIsBounded(t *testing.T) {
	t.Parallel()
	var c CrashLog
	c.Add([]byte("panic: first"))
	for range 10_000 {
		c.Add([]byte("goroutine 1 [running]:"))
	}
	require.LessOrEqual(t, len(c.Stderr()), maxStderrTail)
	require.LessOrEqual(t, len(c.report), maxCrashReport)
	require.True(t, strings.HasPrefix(string(c.report), "panic: first\n"), "the beginning of the report is kept")
}
