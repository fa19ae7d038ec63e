package catalog

import (
	"fmt"
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
		"an activity twice": {
			Workflows: []abi.WorkflowInfo{workflow}, Activities: []abi.ActivityInfo{{Name: "a"}, {Name: "a"}},
		},
		"version 0": {
			Workflows: []abi.WorkflowInfo{workflow}, Migrations: []abi.Migration{sql(0, abi.DialectAny)},
		},
		"an unknown dialect": {Workflows: []abi.WorkflowInfo{workflow}, Migrations: []abi.Migration{sql(1, "oracle")}},
		"a version twice": {
			Workflows:  []abi.WorkflowInfo{workflow},
			Migrations: []abi.Migration{sql(1, abi.DialectAny), sql(1, abi.DialectSQLite)},
		},
		"no SQL": {
			Workflows:  []abi.WorkflowInfo{workflow},
			Migrations: []abi.Migration{{Version: 1, Dialect: abi.DialectAny, SQL: " "}},
		},
		"too many items": {Workflows: make([]abi.WorkflowInfo, 1001)},
	} {
		require.Equal(t, abi.CodeBadManifest, abi.CodeOf(checkManifest(&m)), name)
	}
}

func TestCheckDeferreds(t *testing.T) {
	t.Parallel()
	check := func(ds ...abi.DeferredInfo) error {
		return checkManifest(&abi.Manifest{
			Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest, Deferreds: ds}},
		})
	}
	require.NoError(t, check())
	require.NoError(
		t,
		check(
			abi.DeferredInfo{Name: "a"}, abi.DeferredInfo{Name: "a-", Dynamic: true},
			abi.DeferredInfo{Name: "b-", Dynamic: true},
		),
	)
	many := make([]abi.DeferredInfo, maxMessages+1)
	for i := range many {
		many[i].Name = fmt.Sprintf("d%d", i)
	}
	require.NoError(t, check(many[1:]...))
	for name, ds := range map[string][]abi.DeferredInfo{
		"twice":                  {{Name: "a"}, {Name: "a"}},
		"a beginning twice":      {{Name: "a", Dynamic: true}, {Name: "a", Dynamic: true}},
		"a name of a beginning":  {{Name: "a", Dynamic: true}, {Name: "ab"}},
		"beginnings that meet":   {{Name: "ab", Dynamic: true}, {Name: "a", Dynamic: true}},
		"a name and a beginning": {{Name: "a"}, {Name: "a", Dynamic: true}},
		"no name":                {{Name: ""}},
		"an empty beginning":     {{Name: "", Dynamic: true}},
		"a bad name":             {{Name: "a b"}},
		"a bad type":             {{Name: "a", Value: &abi.Schema{Type: "thing"}}},
		"too many":               many,
	} {
		require.Equal(t, abi.CodeBadManifest, abi.CodeOf(check(ds...)), name)
	}
}

func TestCheckEntities(t *testing.T) {
	t.Parallel()
	state := &abi.Schema{Type: abi.TypeInt}
	operations := []abi.OperationInfo{{Name: "x"}}
	require.NoError(t, checkManifest(&abi.Manifest{Entities: []abi.EntityInfo{
		{Name: "Account", State: state, Operations: []abi.OperationInfo{{Name: "balance", ReadOnly: true}}},
		{
			Name:       "Gateway",
			ShardGroup: "blue",
			Mailbox:    50,
			Operations: []abi.OperationInfo{{Name: "rename", Persisted: true}},
		},
	}}), "a module needs no workflow")
	for name, e := range map[string][]abi.EntityInfo{
		"a bad name":              {{Name: "9", Operations: operations}},
		"twice":                   {{Name: "A", Operations: operations}, {Name: "A", Operations: operations}},
		"no operations":           {{Name: "A"}},
		"an operation twice":      {{Name: "A", Operations: []abi.OperationInfo{{Name: "x"}, {Name: "x"}}}},
		"a bad operation":         {{Name: "A", Operations: []abi.OperationInfo{{Name: ""}}}},
		"too many operations":     {{Name: "A", Operations: make([]abi.OperationInfo, 1001)}},
		"read-only without state": {{Name: "A", Operations: []abi.OperationInfo{{Name: "x", ReadOnly: true}}}},
		"persisted with a state": {{
			Name: "A", State: state, Operations: []abi.OperationInfo{{Name: "x", Persisted: true}},
		}},
		"a negative idle time": {{Name: "A", IdleTime: -1, Operations: operations}},
		"a huge mailbox":       {{Name: "A", Mailbox: 1 << 30, Operations: operations}},
		"a huge concurrency":   {{Name: "A", Concurrency: 1 << 30, Operations: operations}},
		"a bad shard group":    {{Name: "A", ShardGroup: "b/c", Operations: operations}},
		"a bad type":           {{Name: "A", State: &abi.Schema{Type: "thing"}, Operations: operations}},
	} {
		require.Equal(t, abi.CodeBadManifest, abi.CodeOf(checkManifest(&abi.Manifest{Entities: e})), name)
	}
}
