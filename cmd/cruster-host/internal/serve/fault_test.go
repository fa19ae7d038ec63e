package serve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
)

func TestFaultSpecs(t *testing.T) {
	t.Parallel()

	hook, err := faultPoint("")
	require.NoError(t, err)
	require.Nil(t, hook)
	hook, err = faultPoint(host.FaultPoints[0] + "@2")
	require.NoError(t, err)
	hook(host.FaultPoints[0]) // the first passing of two
	hook(host.FaultPoints[1])
	for _, spec := range []string{"x", "nowhere@1", host.FaultPoints[0], host.FaultPoints[0] + "@0", host.FaultPoints[0] + "@x"} {
		_, err := faultPoint(spec)
		require.Error(t, err, spec)
	}
}
