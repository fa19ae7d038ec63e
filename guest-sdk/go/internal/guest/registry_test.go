package guest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestRegistryRefusesDuplicates(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	require.PanicsWithValue(t, `cruster: workflow "w" is registered twice`, func() {
		r.AddWorkflow(&Workflow{Name: "w"})
	})
	require.PanicsWithValue(t, `cruster: activity "a" is registered twice`, func() {
		r.AddActivity(&Activity{Name: "a"})
	})
	r.AddMigration(abi.Migration{Version: 1, Name: "one", SQL: "x", Dialect: abi.DialectSQLite})
	r.AddMigration(abi.Migration{Version: 1, Name: "one", SQL: "x", Dialect: abi.DialectPostgres})
	require.Panics(t, func() { r.AddMigration(abi.Migration{Version: 1, Name: "one", SQL: "x"}) })
	require.Panics(t, func() { r.AddMigration(abi.Migration{Version: 0, Name: "zero", SQL: "x"}) })
	require.Panics(t, func() { r.AddMigration(abi.Migration{Version: 2, Name: "empty", SQL: " "}) })
	require.Panics(t, func() { r.AddMigration(abi.Migration{Version: 2, Name: "odd", SQL: "x", Dialect: "oracle"}) })
	m := r.Manifest()
	require.Equal(t, abi.DialectPostgres, m.Migrations[0].Dialect)
	require.Equal(t, "plain", m.Workflows[0].Name)
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a":                      "",
		"Payments.charge_2-b":    "",
		strings.Repeat("n", 128): "",
		"":                       "must have 1 to 128 bytes",
		strings.Repeat("n", 129): "must have 1 to 128 bytes",
		"2nd":                    "must start with a letter",
		"_a":                     "must start with a letter",
		"a b":                    "may hold only letters, digits, '_', '-' and '.'",
		"größe":                  "may hold only letters, digits, '_', '-' and '.'",
		"a/b":                    "may hold only letters, digits, '_', '-' and '.'",
	} {
		require.Equal(t, want, nameProblem(name), "%q", name)
	}
}
