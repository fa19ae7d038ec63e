package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c, err := Config{DSN: "postgres://"}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, "cruster", c.Schema)
	require.NotNil(t, c.Clock)
	require.NotNil(t, c.Logger)
	require.Positive(t, c.CallLimit)
	require.Positive(t, c.GuestTxLimit)
	require.Positive(t, c.MaxConns)
	require.Positive(t, c.MaxGuestConns)
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"a", "cruster_2", "abcdefghijklmnopqrstuvwx"} {
		_, err := Config{DSN: "postgres://", Schema: schema}.withDefaults()
		require.NoError(t, err, schema)
	}
	for _, schema := range []string{
		"A", "2a", "_a", "a_", "a__b", "pg_a", "a-b", "a b", `a"b`, "abcdefghijklmnopqrstuvwxy", "ä",
	} {
		_, err := Config{DSN: "postgres://", Schema: schema}.withDefaults()
		require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err), schema)
	}
}
