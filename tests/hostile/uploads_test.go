package hostile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// upload is a binary that must be refused.
type upload struct {
	name   string
	binary []byte
	code   abi.Code
}

func uploads(t testing.TB) []upload {
	raw := harness.Module(t, "tests/guests/raw")
	padding := wasmtest.Section(0, append(wasmtest.String("padding"), make([]byte, 100<<20)...))
	changed := func(change func(*crafted)) []byte {
		c := wellMade()
		change(&c)
		return c.binary()
	}
	all := []upload{
		{"nothing", nil, abi.CodeNotWasm},
		{"text", []byte("#!/bin/sh\necho hello\n"), abi.CodeNotWasm},
		{"an archive", []byte("PK\x03\x04 and so on"), abi.CodeNotWasm},
		{"magic alone", []byte("\x00asm"), abi.CodeNotWasm},
		{"another version of Wasm", []byte("\x00asm\x02\x00\x00\x00"), abi.CodeNotWasm},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), abi.CodeNotWasm},
		{"an empty module", []byte("\x00asm\x01\x00\x00\x00"), abi.CodeMissingExport},
		{"a hundred megabytes of nothing", make([]byte, 100<<20), abi.CodeModuleTooLarge},
		{"a hundred megabytes of module", slices.Concat(wellMade().binary(), padding), abi.CodeModuleTooLarge},
		{"rubbish after the module", append(wellMade().binary(), "rubbish"...), abi.CodeNotWasm},
		{"half a module", raw[:len(raw)/2], abi.CodeNotWasm},
		{"a module without its last byte", raw[:len(raw)-1], abi.CodeNotWasm},
		{"version 0 of the ABI", changed(func(c *crafted) { c.version = 0 }), abi.CodeABIVersion},
		{"version 2 of the ABI", changed(func(c *crafted) { c.version = 2 }), abi.CodeABIVersion},
		{"a negative version", changed(func(c *crafted) { c.version = -1 }), abi.CodeABIVersion},
		{"an unknown import", changed(func(c *crafted) {
			c.imports = []craftedImport{{module: "cruster", name: "format_disk", typ: wasmtest.TypeOp}}
		}), abi.CodeUnknownImport},
		{
			"an import of another module",
			changed(func(c *crafted) {
				c.imports = []craftedImport{{module: "env", name: "abort", typ: wasmtest.TypeVoid}}
			}),
			abi.CodeUnknownImport,
		},
		{"an import of another type", changed(func(c *crafted) {
			c.imports = []craftedImport{{module: "cruster", name: "sleep", typ: wasmtest.TypeVoid}}
		}), abi.CodeUnknownImport},
		{
			"an import without a name", changed(func(c *crafted) { c.imports = []craftedImport{{}} }),
			abi.CodeUnknownImport,
		},
		{
			"an import with a long name",
			changed(func(c *crafted) {
				c.imports = []craftedImport{{module: "cruster", name: strings.Repeat("x", 1<<20)}}
			}),
			abi.CodeUnknownImport,
		},
		{
			"an imported memory",
			changed(func(c *crafted) {
				c.imports = []craftedImport{{module: "env", name: "memory", kind: []byte{2, 0, 1}}}
			}),
			abi.CodeUnknownImport,
		},
		{
			"an imported global",
			changed(func(c *crafted) {
				c.imports = []craftedImport{{module: "env", name: "g", kind: []byte{3, 0x7f, 0}}}
			}),
			abi.CodeUnknownImport,
		},
		{"too much memory", changed(func(c *crafted) { c.pages = 60_000 }), abi.CodeModuleMemory},
		{"describe crashes", changed(func(c *crafted) { c.describe = wasmtest.Unreachable }), abi.CodeModuleInit},
		{"describe says nothing", changed(func(c *crafted) { c.describe = []byte{0x01} }), abi.CodeBadManifest},
	}
	for _, export := range []string{
		abi.ExportABI, abi.ExportDescribe, abi.ExportStart, abi.ExportResume, abi.ExportMemory,
	} {
		all = append(all, upload{
			"without " + export, changed(func(c *crafted) { c.omit = export }), abi.CodeMissingExport,
		})
	}
	for name, manifest := range badManifests() {
		all = append(all, upload{
			"manifest: " + name, changed(func(c *crafted) { c.manifest = manifest }), abi.CodeBadManifest,
		})
	}
	return all
}

// badManifests are manifests that must be refused.
func badManifests() map[string][]byte {
	workflows := func(ws ...abi.WorkflowInfo) []byte { return abi.MustMarshal(abi.Manifest{Workflows: ws}) }
	named := func(name string) abi.WorkflowInfo {
		return abi.WorkflowInfo{Name: name, Key: abi.KeyFromRequest}
	}
	migrations := func(ms ...abi.Migration) []byte {
		return abi.MustMarshal(abi.Manifest{Workflows: []abi.WorkflowInfo{named("W")}, Migrations: ms})
	}
	deferreds := func(ds ...abi.DeferredInfo) []byte {
		return workflows(abi.WorkflowInfo{Name: "W", Key: abi.KeyFromRequest, Deferreds: ds})
	}
	deep := &abi.Schema{Type: abi.TypeAny}
	for range 100 {
		deep = &abi.Schema{Type: abi.TypeList, Elem: deep}
	}
	return map[string][]byte{
		"nil":                 abi.Nil,
		"a number":            {0x2a},
		"a list":              {0x90},
		"garbage":             {0xc1, 0xff, 0x00},
		"two values":          append(honest(), honest()...),
		"cut off":             honest()[:len(honest())-1],
		"an empty map":        {0x80},
		"no workflow":         workflows(),
		"a string for a list": abi.MustMarshal(object{"workflows": "W"}),
		"a million workflows": slices.Concat(
			[]byte{0x81}, []byte("\xa9workflows"), []byte{0xdd, 0x00, 0x0f, 0x42, 0x40},
			bytes.Repeat([]byte{0x80}, 1_000_000),
		),
		"a lying length": slices.Concat(
			[]byte{0x81}, []byte("\xa9workflows"), []byte{0xdd, 0xff, 0xff, 0xff, 0xff},
		),
		"a lying map": {0xdf, 0xff, 0xff, 0xff, 0xff},
		"too deep": abi.MustMarshal(abi.Manifest{
			Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest, Input: deep}},
		}),
		"a bomb of lists":          bytes.Repeat([]byte{0x91}, 1_000_000),
		"a name twice":             workflows(named("W"), named("W")),
		"no name":                  workflows(named("")),
		"a name with a slash":      workflows(named("a/b")),
		"a name with a control":    workflows(named("a\x00b")),
		"a name that starts wrong": workflows(named("1st")),
		"a long name":              workflows(named(strings.Repeat("n", abi.MaxName+1))),
		"an unknown key mode":      workflows(abi.WorkflowInfo{Name: "W", Key: "guess"}),
		"no key mode":              workflows(abi.WorkflowInfo{Name: "W"}),
		"an unknown type": workflows(abi.WorkflowInfo{
			Name: "W", Key: abi.KeyFromRequest, Input: &abi.Schema{Type: "matrix"},
		}),
		"a deferred twice": deferreds(abi.DeferredInfo{Name: "d"}, abi.DeferredInfo{Name: "d"}),
		"deferreds that meet": deferreds(
			abi.DeferredInfo{Name: "d-", Dynamic: true}, abi.DeferredInfo{Name: "d-e"},
		),
		"beginnings that meet": deferreds(
			abi.DeferredInfo{Name: "d-e", Dynamic: true}, abi.DeferredInfo{Name: "d", Dynamic: true},
		),
		"all deferreds":      deferreds(abi.DeferredInfo{Dynamic: true}),
		"too many deferreds": deferreds(make([]abi.DeferredInfo, 100_000)...),
		"an activity twice": abi.MustMarshal(abi.Manifest{
			Workflows: []abi.WorkflowInfo{named("W")}, Activities: []abi.ActivityInfo{{Name: "a"}, {Name: "a"}},
		}),
		"an activity without name": abi.MustMarshal(abi.Manifest{
			Workflows: []abi.WorkflowInfo{named("W")}, Activities: []abi.ActivityInfo{{}},
		}),
		"migration zero": migrations(abi.Migration{Name: "m", SQL: "SELECT 1"}),
		"a migration twice": migrations(
			abi.Migration{Version: 1, SQL: "SELECT 1"}, abi.Migration{Version: 1, SQL: "SELECT 2"},
		),
		"a migration for and for all": migrations(
			abi.Migration{Version: 1, SQL: "SELECT 1", Dialect: abi.DialectSQLite},
			abi.Migration{Version: 1, SQL: "SELECT 2"},
		),
		"a migration of nothing":   migrations(abi.Migration{Version: 1, SQL: " \n"}),
		"a migration in a dialect": migrations(abi.Migration{Version: 1, SQL: "SELECT 1", Dialect: "cobol"}),
		"a migration of megabytes": migrations(abi.Migration{
			Version: 1, SQL: "SELECT '" + strings.Repeat("x", 1<<20) + "'",
		}),
	}
}

func TestUploadsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	t.Run("uploads", func(t *testing.T) {
		for i, u := range uploads(t) {
			t.Run(u.name, func(t *testing.T) {
				t.Parallel()
				name := fmt.Sprintf("upload-%d", i)
				b.requireRefused(t, b.push(t, name, u.binary), u.code, name, u.binary)
			})
		}
	})
	b.requireNothingStored(t)
	b.requireGoesOn(t)
}

// TestADescribeThatLoopsIsRefused has an engine of its own: others need more time on a loaded machine.
func TestADescribeThatLoopsIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *host.Config) { c.Wasm.InitTimeout = 300 * time.Millisecond })
	c := wellMade()
	c.describe = endlessLoop
	b.requireRefused(t, b.push(t, "loop", c.binary()), abi.CodeModuleInit, "loop", c.binary())
	b.requireNothingStored(t)
}

// TestEveryPrefix cuts a module off after each of its bytes.
func TestEveryPrefix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	whole := wellMade().binary()
	for n := range whole {
		b.requireRefused(t, b.push(t, "cut", whole[:n]), "", "cut", whole[:n])
	}
	b.requireNothingStored(t)
	b.requireGoesOn(t)
}

// TestSettingsAreRefused pushes a valid module with invalid settings.
func TestSettingsAreRefused(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, testSettingsAreRefused)
}

func testSettingsAreRefused(t *testing.T, store journal.Store) {
	b := setupOn(t, store)
	many := map[string]string{}
	for i := range 1001 {
		many[fmt.Sprintf("k%d", i)] = ""
	}
	good := wellMade().binary()
	for name, req := range map[string]host.PushRequest{
		"no name":        {},
		"upper case":     {Name: "Orders"},
		"a slash":        {Name: "a/b"},
		"a dot":          {Name: ".."},
		"a newline":      {Name: "orders\n"},
		"too long":       {Name: strings.Repeat("n", 64)},
		"not UTF-8":      {Name: "\xff\xfe"},
		"a bad grant":    {Name: "x", Settings: host.Settings{AllowHTTP: []string{"http://example.com/"}}},
		"an empty grant": {Name: "x", Settings: host.Settings{AllowHTTP: []string{""}}},
		"a config name":  {Name: "x", Settings: host.Settings{Config: map[string]string{"a b": ""}}},
		"a config value": {
			Name: "x", Settings: host.Settings{Config: map[string]string{"k": strings.Repeat("v", 64<<10+1)}},
		},
		"many config values": {Name: "x", Settings: host.Settings{Config: many}},
		"a long grant": {
			Name: "x", Settings: host.Settings{AllowHTTP: []string{strings.Repeat("a.", 100_000) + "example"}},
		},
		"a config name, long": {
			Name: "x", Settings: host.Settings{Config: map[string]string{strings.Repeat("k", 129): ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			req.Binary = good
			_, err := b.engine.Deployments().Push(t.Context(), req)
			requireCode(t, err, abi.CodeBadDeployment)
			b.requireNothingStored(t)
		})
	}
	b.requireGoesOn(t)
}

// TestMigrationFails shows that nothing is stored of a module whose migration fails: neither the module nor the tables
// of earlier steps.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, sql := range map[string]string{
		"nonsense":        "CREATE NONSENSE",
		"unknown table":   "INSERT INTO nowhere VALUES (1)",
		"not allowed":     "ATTACH DATABASE 'x.db' AS x",
		"its own commit":  "COMMIT",
		"Cruster's table": "DROP TABLE executions",
	} {
		c := wellMade()
		c.manifest = abi.MustMarshal(abi.Manifest{
			Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}},
			Migrations: []abi.Migration{
				{Version: 1, Name: "fine", SQL: "CREATE TABLE fine (n BIGINT)"},
				{Version: 2, Name: name, SQL: sql},
			},
		})
		b.requireRefused(t, b.push(t, "migrating", c.binary()), abi.CodeMigrationFailed, "migrating", c.binary())
	}
	b.requireNothingStored(t)
	// If the first step of one of them were still applied, this would fail.
	c := wellMade()
	c.manifest = abi.MustMarshal(abi.Manifest{
		Workflows:  []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}},
		Migrations: []abi.Migration{{Version: 1, Name: "fine", SQL: "CREATE TABLE fine (n BIGINT)"}},
	})
	require.NoError(t, b.push(t, "migrating", c.binary()))
	b.requireGoesOn(t)
}

// TestManifestLies runs a workflow that the module declares but does not have.
func TestManifestLies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, c := range []struct {
		name   string
		change func(*crafted)
		state  journal.State
		code   abi.Code
	}{
		{"it says so", func(c *crafted) {
			c.outcome = abi.MustMarshal(abi.Outcome{Error: abi.Errorf(abi.CodeUnknownInvoke, "no such workflow")})
		}, journal.Failed, abi.CodeUnknownInvoke},
		{"it crashes", func(c *crafted) { c.start = wasmtest.Unreachable }, journal.Paused, abi.CodeCrashLoop},
		{"it says nothing", func(c *crafted) { c.outcome = nil }, journal.Paused, abi.CodeGuestProtocol},
		{"it answers with garbage", func(c *crafted) { c.outcome = []byte{0xc1} }, journal.Paused, abi.CodeBadBody},
		{"it answers with nothing", func(c *crafted) { c.outcome = []byte{} }, journal.Paused, abi.CodeBadBody},
		{"it returns a strange status", func(c *crafted) { c.status = 7 }, journal.Paused, abi.CodeGuestProtocol},
		{
			"it waits for nothing", func(c *crafted) { c.outcome, c.status = nil, abi.StatusParked }, journal.Paused,
			abi.CodeGuestDeadlock,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := wellMade()
			c.change(&m)
			name := fmt.Sprintf("lie-%d", i)
			require.NoError(t, b.push(t, name, m.binary()))
			row := harness.Wait(t, b.engine, harness.Start(t, b.engine, name+"/W", nil))
			require.Equal(t, c.state, row.State, "%v", row.Error)
			requireCode(t, row.Error, c.code)
			b.requireGoesOn(t)
		})
	}
	t.Run("it loops", func(t *testing.T) {
		t.Parallel()
		// An engine of its own: code without a loop might take as long on a loaded machine.
		b := setup(t, func(c *host.Config) { c.TurnTimeout = 300 * time.Millisecond })
		m := wellMade()
		m.start = endlessLoop
		require.NoError(t, b.push(t, "loop", m.binary()))
		row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "loop/W", nil))
		require.Equal(t, journal.Paused, row.State, "%v", row.Error)
		requireCode(t, row.Error, abi.CodeCrashLoop)
	})
}
