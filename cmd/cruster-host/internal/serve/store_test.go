package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestStoreSpecs(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs("x")
	require.NoError(t, err)

	spec, err := ParseStore("sqlite:./x", "")
	require.NoError(t, err)
	require.Equal(t, StoreSpec{Dialect: abi.DialectSQLite, dir: "./x"}, spec)
	require.Equal(t, here, spec.String())
	for _, dsn := range []string{"postgres://u:hunter2@h/d", "postgresql://u:hunter2@h/d"} {
		spec, err = ParseStore(dsn, "s")
		require.NoError(t, err)
		require.Equal(t, StoreSpec{Dialect: abi.DialectPostgres, dsn: dsn, schema: "s"}, spec)
		require.Equal(t, "postgres, schema s", spec.String(), "a password is not shown")
	}
	for text, want := range map[string]string{
		"":                      "--store is missing",
		"sqlite:":               "--store is not understood",
		"mysql://u:hunter2@h/d": "--store is not understood",
		"/var/lib":              "--store is not understood",
	} {
		_, err := ParseStore(text, "")
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestStoresThatDoNotOpen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := StoreSpec{Dialect: abi.DialectSQLite, dir: file}.Open(t.Context(), slog.New(slog.DiscardHandler))
	require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err))

	used := StoreSpec{Dialect: abi.DialectSQLite, dir: t.TempDir()}
	store, err := used.Open(t.Context(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	_, err = used.Open(t.Context(), slog.New(slog.DiscardHandler))
	require.Equal(t, abi.CodeStoreInUse, abi.CodeOf(err))
}
