package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestParkedMessages: a message whose operation panics in a real module is listed with its reason, tried again and
// dropped; messages around it are performed.
func TestParkedMessages(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		b := newBank(t, store)
		send := func(operation string, input any, requestID string) error {
			return b.Entities().Send(t.Context(), host.EntityRequest{
				Entity: "bank/Account/ada", Operation: operation, Input: harness.Encode(t, input), RequestID: requestID,
			})
		}
		require.NoError(t, send("deposit", 500, ""))
		require.NoError(t, send("panic", nothing, "request 1"))
		require.NoError(t, send("deposit", 1, ""))
		require.NoError(t, send("deposit", -1000, ""), "it returns an error")
		require.EqualValues(t, 501, b.must("Account/ada", "balance", nothing))
		parked := func() []host.ParkedMessage {
			found, err := b.Entities().Parked(t.Context(), journal.ParkedFilter{Type: "bank/"})
			require.NoError(t, err)
			return found
		}
		first := parked()
		require.Len(t, first, 1)
		require.Equal(t, "panic", first[0].Message.Name)
		require.Equal(t, abi.CodeOperationCrashed, first[0].Reason.Code)
		require.Equal(t, 1, first[0].Attempts)
		n, err := b.Entities().RetryParked(t.Context(), "", "bank/Account/ada", []uint64{first[0].Position})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		harness.Eventually(t, "the message to be parked again", func() bool {
			again := parked()
			return len(again) == 1 && again[0].At > first[0].At
		})
		n, err = b.Entities().CountParked(t.Context(), "", "bank/Account/ada")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		n, err = b.Entities().DropParked(t.Context(), "", "bank/Account/ada", nil)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Empty(t, parked())
		require.Equal(t, abi.CodeDropped, abi.CodeOf(send("panic", nothing, "request 1")))
		_, err = b.Entities().RetryParked(t.Context(), "", "no entity", nil)
		require.Equal(t, abi.CodeEntityName, abi.CodeOf(err))
	})
}
