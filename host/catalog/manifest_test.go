package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestCheckManifest(t *testing.T) {
	t.Parallel()
	workflow := abi.WorkflowInfo{Name: "W", Key: abi.KeyFromRequest}
	sql := func(version int64, dialect string) abi.Migration {
		return abi.Migration{Version: version, Name: "m", Dialect: dialect, SQL: "CREATE TABLE t (a BIGINT)"}
	}
	require.NoError(t, checkManifest(&abi.Manifest{
		Workflows:  []abi.WorkflowInfo{workflow},
		Activities: []abi.ActivityInfo{{Name: "group.step"}},
		Migrations: []abi.Migration{sql(1, abi.DialectSQLite), sql(1, abi.DialectPostgres), sql(2, abi.DialectAny)},
	}))
	for name, m := range map[string]abi.Manifest{
		"nothing":             {},
		"a workflow twice":    {Workflows: []abi.WorkflowInfo{workflow, workflow}},
		"a bad name":          {Workflows: []abi.WorkflowInfo{{Name: "9", Key: abi.KeyFromRequest}}},
		"an unknown key mode": {Workflows: []abi.WorkflowInfo{{Name: "W", Key: "telepathy"}}},
		"an activity twice":   {Workflows: []abi.WorkflowInfo{workflow}, Activities: []abi.ActivityInfo{{Name: "a"}, {Name: "a"}}},
		"version 0":           {Workflows: []abi.WorkflowInfo{workflow}, Migrations: []abi.Migration{sql(0, abi.DialectAny)}},
		"an unknown dialect":  {Workflows: []abi.WorkflowInfo{workflow}, Migrations: []abi.Migration{sql(1, "oracle")}},
		"a version twice":     {Workflows: []abi.WorkflowInfo{workflow}, Migrations: []abi.Migration{sql(1, abi.DialectAny), sql(1, abi.DialectSQLite)}},
		"no SQL":              {Workflows: []abi.WorkflowInfo{workflow}, Migrations: []abi.Migration{{Version: 1, Dialect: abi.DialectAny, SQL: " "}}},
		"too many items":      {Workflows: make([]abi.WorkflowInfo, 1001)},
	} {
		require.Equal(t, abi.CodeBadManifest, abi.CodeOf(checkManifest(&m)), name)
	}
}
