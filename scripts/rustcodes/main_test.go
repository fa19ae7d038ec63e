package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTableInTheSDKIsUpToDate(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, run("../../abi", &out))
	committed, err := os.ReadFile("../../guest-sdk/rust/cruster/src/codes/table.rs")
	require.NoError(t, err)
	require.Equal(t, out.String(), string(committed), "run make generate")
}

func TestNamesOfConstants(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"CodeSQL":          "SQL",
		"CodeHTTPInTx":     "HTTP_IN_TX",
		"CodeABIVersion":   "ABI_VERSION",
		"CodeCallToItself": "CALL_TO_ITSELF",
	} {
		require.Equal(t, want, constantName(name))
	}
}

func TestLiterals(t *testing.T) {
	t.Parallel()
	require.Equal(t, `"say \"a\\b\"\n"`, literal("say \"a\\b\"\n"))
}

func TestACodeWithoutAConstant(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.TempDir(), new(strings.Builder)), "no constant")
}
