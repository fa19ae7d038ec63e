package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/message"
)

func TestHintsAreCommands(t *testing.T) {
	t.Parallel()
	require.Equal(
		t, "'cruster-host workflow describe shop/Buy/42' shows what the execution waits for.",
		message.WaitsFor("shop/Buy/42"),
	)
	for _, key := range []string{"a b", "x;rm", "$HOME", "it's", "ä"} {
		require.Equal(
			t, "'cruster-host workflow describe EXECUTION' shows what the execution waits for.",
			message.WaitsFor("shop/Buy/"+key), key,
		)
	}
}
