package crustertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://a", "https://a.b:1/c?d#e", "http://[::1]/"} {
		require.Nil(t, checkURL(url), url)
	}
	for _, url := range []string{"", "a", "/a", "gopher://x", "http://", "http:///a", "https://user:secret@a/", "http://a b/", "http:a"} {
		err := checkURL(url)
		require.NotNil(t, err, url)
		require.Equal(t, abi.CodeHTTPBadRequest, err.Code)
	}
}
