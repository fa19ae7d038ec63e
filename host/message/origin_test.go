package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

func TestOriginsOfRequests(t *testing.T) {
	t.Parallel()
	seen := map[journal.Origin]bool{}
	for _, of := range []func(string) (journal.Origin, error){
		message.OriginOf, message.StartOriginOf, message.UpdateOriginOf,
	} {
		none, err := of("")
		require.NoError(t, err)
		require.Zero(t, none)
		first, err := of("r")
		require.NoError(t, err)
		again, err := of("r")
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.False(t, seen[first], "a start, an update and a signal of one id are three requests")
		seen[first] = true
		_, err = of("a\x00b")
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err))
	}
}
