package abi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestSplitEntity(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]string{
		"Account/ada":           {"shop", "Account", "ada"},
		"bank/Account/ada":      {"bank", "Account", "ada"},
		"bank/Account/ada/1/2/": {"bank", "Account", "ada/1/2/"},
		"bank/Account//":        {"bank", "Account", "/"},
	} {
		deployment, entity, id, err := abi.SplitEntity("shop", name)
		require.NoError(t, err, name)
		require.Equal(t, want, [3]string{deployment, entity, id}, name)
	}
	for _, name := range []string{
		"", "Account", "Account/", "/ada", "bank/Account/", "bank//ada", "/Account/ada", "Account/a\nb",
		"Account/" + strings.Repeat("a", abi.MaxKey+1),
	} {
		_, _, _, err := abi.SplitEntity("shop", name)
		require.Equal(t, abi.CodeEntityName, abi.CodeOf(err), "%q", name)
	}
}
