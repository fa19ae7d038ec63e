package convert_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
)

func TestNamespaces(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"": "default", "acme": "acme", "a-1": "a-1", strings.Repeat("a", 63): strings.Repeat("a", 63),
	} {
		got, err := convert.Namespace(given)
		require.NoError(t, err, given)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"No", "1a", "-a", "a b", "a/b", "a\n", "ä", strings.Repeat("a", 64)} {
		_, err := convert.Namespace(bad)
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), "%q", bad)
	}
	_, err := convert.Namespace(strings.Repeat("X", 1<<20))
	require.Less(t, len(err.Error()), 200, "a long name does not fill the message")
}

func TestTargets(t *testing.T) {
	t.Parallel()
	namespace, err := convert.Target("", "shop/Buy/k")
	require.NoError(t, err)
	require.Equal(t, "default", namespace)
	namespace, err = convert.Target("acme", "shop/Buy/a/b")
	require.NoError(t, err, "a key may hold slashes")
	require.Equal(t, "acme", namespace)
	for _, bad := range []string{"", "shop", "shop/Buy", "/Buy/k"} {
		_, err := convert.Target("", bad)
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), "%q", bad)
		require.ErrorContains(t, err, "is not a valid name of an execution")
	}
	_, err = convert.Target("No", "shop/Buy/k")
	require.ErrorContains(t, err, "is not a valid name of a namespace")
}
