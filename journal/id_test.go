package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// Ids are stored: they never change.
func TestIDOf(t *testing.T) {
	t.Parallel()
	id := journal.IDOf("default", "orders/Process", "42")
	require.Equal(t, "648c9e1080db7706c07c887793315266", id.String())
	require.EqualValues(t, 0b01_1001_0010, id.Shard(), "its first ten bits")
	require.EqualValues(t, journal.NumShards-1, journal.ID{0xff, 0xff}.Shard())
	require.False(t, id.IsZero())
	require.True(t, journal.ID{}.IsZero())
	require.NotEqual(t, journal.IDOf("a", "bc", "d"), journal.IDOf("ab", "c", "d"), "the parts are kept apart")
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"orders/Process/42":      {"orders/Process", "42"},
		"orders/Process/a/b":     {"orders/Process", "a/b"},
		"orders/Process/a/b/c//": {"orders/Process", "a/b/c//"},
	} {
		workflow, key, ok := journal.ParseName(name)
		require.True(t, ok, name)
		require.Equal(t, want, [2]string{workflow, key})
		e := journal.Execution{Workflow: workflow, Key: key}
		require.Equal(t, name, e.Name())
	}
	for _, name := range []string{
		"", "/", "orders", "orders/", "orders/Process", "orders/Process/", "/Process/42", "orders//42",
	} {
		_, _, ok := journal.ParseName(name)
		require.False(t, ok, name)
	}
}
