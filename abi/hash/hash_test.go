package hash_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
)

func TestHash(t *testing.T) {
	t.Parallel()
	a, err := hash.Of([]byte("\x82\xa1b\x02\xa1a\xcd\x00\x01"))
	require.NoError(t, err)
	b, err := hash.Of([]byte("\x82\xa1a\x01\xa1b\x02"))
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.Len(t, a, 64)
	_, err = hash.Of(nil)
	require.Error(t, err)

	s, err := hash.Of(abi.MustMarshal("order-42"))
	require.NoError(t, err)
	require.Equal(t, s, hash.OfString("order-42"))
}
