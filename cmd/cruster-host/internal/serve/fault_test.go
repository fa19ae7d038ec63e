package serve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/fault"
)

func TestFaultSpecs(t *testing.T) {
	t.Parallel()

	hook, err := faultPoint("")
	require.NoError(t, err)
	require.Nil(t, hook)
	hook, err = faultPoint(fault.Points[0] + "@2")
	require.NoError(t, err)
	hook(fault.Points[0]) // the first passing of two
	hook(fault.Points[1])
	for _, spec := range []string{"x", "nowhere@1", fault.Points[0], fault.Points[0] + "@0", fault.Points[0] + "@x"} {
		_, err := faultPoint(spec)
		require.Error(t, err, spec)
	}
}
