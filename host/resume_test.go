package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// TestResumeTwice resumes an execution that crashes again and again: each caller is told that it
// went on or that it was not paused at that moment, never about the crash: that is the task of
// describe.
func TestResumeTwice(t *testing.T) {
	t.Parallel()
	e := harness.Engine(t, harness.Store(t, "sqlite"), func(c *host.Config) {
		undertest.Of(&c.UnderTest).EvictAlways = true
	})
	harness.Push(t, e, "conformance", "tests/guests/conformance")
	execution := harness.Start(t, e, "conformance/Misuse", "panic")
	paused := harness.Wait(t, e, execution)
	require.Equal(t, journal.Paused, paused.State)
	require.Equal(t, abi.CodeCrashLoop, paused.Error.Code)

	answers := make(chan error)
	for range 4 {
		go func() { answers <- e.Executions().Resume(t.Context(), "", execution) }()
	}
	for range 4 {
		if err := <-answers; err != nil {
			require.ErrorIs(t, err, &abi.Error{Code: abi.CodeNotPaused})
		}
	}
	harness.Eventually(t, "the execution is paused again", func() bool {
		row, err := e.Observer().Poll(t.Context(), "", execution)
		return err == nil && row.State == journal.Paused
	})
}
