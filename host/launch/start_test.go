package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestIfFinishedIsChecked(t *testing.T) {
	t.Parallel()
	for _, p := range []abi.IfFinished{
		"", abi.ReturnFinished, abi.RestartFinished, abi.RestartFailed, abi.RefuseFinished,
	} {
		require.NoError(t, checkIfFinished(p))
	}
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(checkIfFinished("again")))
}
