package postgres

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuestNamesAreDistinctIdentifiers(t *testing.T) {
	t.Parallel()
	require.Equal(t, "cruster__default", guestName("cruster", "default"))
	schemas := []string{"cruster", "cruster_a", "a", "a_b", strings.Repeat("s", maxSchema)}
	namespaces := []string{
		"default", "Default", "a", "a_b", "b", "a__b", "_a", "x__a", "x__", "", "with-dash", "ünï",
		`"; DROP SCHEMA cruster; --`,
		strings.Repeat("n", 36), strings.Repeat("n", 37), strings.Repeat("n", 1000),
	}
	seen := map[string]string{}
	for _, schema := range schemas {
		seen[schema] = "a schema of Cruster"
	}
	for _, schema := range schemas {
		for _, namespace := range namespaces {
			name := guestName(schema, namespace)
			require.LessOrEqual(t, len(name), 63, "Postgres would cut it off")
			require.Regexp(t, schemaPattern, name)
			require.Empty(t, seen[name], "%s of %s and %s", name, schema, namespace)
			seen[name] = schema + " " + namespace
		}
	}
}
