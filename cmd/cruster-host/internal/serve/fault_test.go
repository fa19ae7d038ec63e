package serve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/faultpoint"
)

func TestFaultSpecs(t *testing.T) {
	t.Parallel()

	hook, err := faultPoint("")
	require.NoError(t, err)
	require.Nil(t, hook)
	hook, err = faultPoint(faultpoint.Points[0] + "@2")
	require.NoError(t, err)
	hook(faultpoint.Points[0]) // the first passing of two
	hook(faultpoint.Points[1])
	for _, spec := range []string{"x", "nowhere@1", faultpoint.Points[0], faultpoint.Points[0] + "@0", faultpoint.Points[0] + "@x"} {
		_, err := faultPoint(spec)
		require.Error(t, err, spec)
	}
}
