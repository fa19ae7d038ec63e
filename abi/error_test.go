package abi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	e := abi.Errorf(abi.CodeHTTPFailed, "call %d failed", 7)
	require.Equal(t, "CR-3203: call 7 failed", e.Error())
	require.True(t, e.Retryable)
	require.Equal(t, abi.CodeHTTPFailed.Info().Hint, e.Hint)
	require.Equal(t, "plain", (&abi.Error{Message: "plain"}).Error())

	hinted := e.WithHint("do %s", "that")
	require.Equal(t, "do that", hinted.Hint)
	require.NotEqual(t, hinted.Hint, e.Hint, "the original keeps its hint")

	wrapped := fmt.Errorf("outside: %w", e)
	require.ErrorIs(t, wrapped, &abi.Error{Code: abi.CodeHTTPFailed})
	require.NotErrorIs(t, wrapped, &abi.Error{Code: abi.CodeSQL})
	require.Same(t, e, abi.AsError(wrapped))
	require.Equal(t, abi.CodeHTTPFailed, abi.CodeOf(wrapped))
	require.Empty(t, abi.CodeOf(errors.New("other")))
	require.Nil(t, abi.AsError(nil))

	late := abi.Errorf(abi.CodeGuestTimeout, "it did not return")
	require.True(t, late.RanTooLong())
	require.True(t, abi.Errorf(abi.CodeCrashLoop, "it crashed 3 times; last: %v", late).RanTooLong())
	require.False(t, abi.Errorf(abi.CodeCrashLoop, "it crashed 3 times; last: %v", e).RanTooLong())
	require.False(t, (*abi.Error)(nil).RanTooLong())
	require.Equal(t, abi.CodeInternal, abi.AsError(errors.New("other")).Code)
}
