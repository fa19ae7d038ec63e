package faultpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/faultpoint"
)

func TestPassings(t *testing.T) {
	t.Parallel()
	p, err := faultpoint.ParsePassing("start.after-commit@12")
	require.NoError(t, err)
	require.Equal(t, faultpoint.Passing{Point: "start.after-commit", N: 12}, p)
	require.Equal(t, "start.after-commit@12", p.String())
	for _, text := range []string{
		"", "x", "nowhere@1", "replay", "replay@", "replay@0", "replay@-1", "replay@x", "replay@1@2",
	} {
		_, err := faultpoint.ParsePassing(text)
		require.ErrorContains(t, err, "not POINT@N", text)
	}
}
