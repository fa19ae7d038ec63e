package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

func TestStates(t *testing.T) {
	t.Parallel()
	for wire, tc := range map[crusterv1.State]struct {
		want  client.State
		final bool
	}{
		crusterv1.State_STATE_RUNNING:     {client.Running, false},
		crusterv1.State_STATE_PAUSED:      {client.Paused, false},
		crusterv1.State_STATE_COMPLETED:   {client.Completed, true},
		crusterv1.State_STATE_FAILED:      {client.Failed, true},
		crusterv1.State_STATE_INTERRUPTED: {client.Interrupted, true},
		crusterv1.State_STATE_UNSPECIFIED: {"", false},
	} {
		require.Equal(t, tc.want, client.StateOf(wire))
		require.Equal(t, tc.final, tc.want.Final(), wire)
	}
}
