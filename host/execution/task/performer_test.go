package task

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

func TestRetryUntilDecided(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		life := hoststate.New()
		life.MarkStarted()
		p := Performer{Deps: Deps{
			Clock: clockwork.NewRealClock(), Host: life, Logger: slog.New(slog.DiscardHandler),
		}}
		failures := []error{errors.New("no connection"), abi.Errorf(abi.CodeOverloaded, "full"), nil}
		tries := 0
		failure, decided := p.retryUntilDecided(t.Context(), "try", func() error {
			tries++
			return failures[tries-1]
		})
		require.True(t, decided)
		require.Nil(t, failure)
		require.Equal(t, 3, tries)

		failure, decided = p.retryUntilDecided(t.Context(), "try", func() error {
			return abi.Errorf(abi.CodeBadInput, "no")
		})
		require.True(t, decided, "a failure of the request itself is its outcome")
		require.Equal(t, abi.CodeBadInput, failure.Code)

		tries = 0
		failure, decided = p.retryUntilDecided(t.Context(), "try", func() error {
			tries++
			return journal.Coded("read a row", journal.ErrCorrupt)
		})
		require.True(t, decided, "one damaged row holds up no caller for ever, nor a place to read")
		require.Equal(t, abi.CodeHostFault, failure.Code)
		require.Equal(t, hostTries, tries)

		life.Drain()
		_, decided = p.retryUntilDecided(t.Context(), "try", life.Accepting)
		require.False(t, decided, "it must not hold up a host that drains")
	})
}
