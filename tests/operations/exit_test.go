package ops_test

import (
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/addrtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
)

// Exit codes of a host, as docs/operations.md lists them.
const (
	exitUsage     = 2
	exitFenced    = 8
	exitStore     = 9
	exitStoreFull = 10
	exitInUse     = 11
	exitAddress   = 12
	exitPrivilege = 13
	exitStoreGone = 14
)

// TestExitCodesSayOneThing: the duties of a supervisor differ, and so does the code that a host exits with.
func TestExitCodesSayOneThing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		host func(t *testing.T) *harness.Process
		want int
		says string
	}{
		"Usage": {func(t *testing.T) *harness.Process {
			return harness.NewProcess(t, "nonsense")
		}, exitUsage, "--store"},
		"BadSetting": {func(t *testing.T) *harness.Process {
			return harness.NewProcess(t, "sqlite:"+t.TempDir(), "--max-executions", "-1")
		}, exitUsage, "error: "},
		"NoDatabase": {func(t *testing.T) *harness.Process {
			return harness.NewProcess(t, "postgres://cruster@"+addrtest.Reserve(t)+"/cruster")
		}, exitStore, "CR-5005"},
		"DiskFull": {func(t *testing.T) *harness.Process {
			at := onPostgres(t)
			failClaims(t, at, "53100")
			return harness.NewProcess(t, at.store, at.args...)
		}, exitStoreFull, "CR-5012"},
		"ClaimFails": {func(t *testing.T) *harness.Process {
			at := onPostgres(t)
			failClaims(t, at, "58030")
			return harness.NewProcess(t, at.store, at.args...)
		}, exitStore, "CR-5005"},
		"StoreInUse": {func(t *testing.T) *harness.Process {
			at := onSQLite(t)
			at.host(t)
			return harness.NewProcess(t, at.store)
		}, exitInUse, "CR-5006"},
		"AddressInUse": {func(t *testing.T) *harness.Process {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			return harness.NewProcess(t, "sqlite:"+t.TempDir(), "--http-addr", l.Addr().String())
		}, exitAddress, "CR-5013"},
		"Privilege": {func(t *testing.T) *harness.Process {
			role := pgtest.Schema(t) + "_poor"
			administer(t, `CREATE ROLE `+role+` LOGIN`)
			t.Cleanup(func() { administer(t, `DROP ROLE `+role) })
			u, err := url.Parse(pgtest.DSN(t))
			require.NoError(t, err)
			u.User = url.User(role)
			return harness.NewProcess(t, u.String())
		}, exitPrivilege, "CR-5009"},
		"StoreTakenAway": {func(t *testing.T) *harness.Process {
			at := onSQLite(t)
			p := at.host(t)
			require.NoError(t, os.RemoveAll(strings.TrimPrefix(at.store, "sqlite:")))
			return p
		}, exitStoreGone, "CR-5011"},
		"TakenOver": {func(t *testing.T) *harness.Process {
			at := onPostgres(t)
			former := at.host(t)
			at.host(t)
			return former
		}, exitFenced, "CR-5004"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := tc.host(t)
			got := 0
			if p.Started() {
				got = p.Exit()
			} else {
				got = p.Run()
			}
			require.Contains(t, p.Log(), tc.says)
			require.Equal(t, tc.want, got, p.Log())
		})
	}
}

// failClaims makes a store whose shards cannot be claimed: the server refuses with the given state.
func failClaims(t *testing.T, at place, state string) {
	store, err := at.open()
	require.NoError(t, err)
	require.NoError(t, store.Close())
	administer(t, strings.NewReplacer("SCHEMA", at.args[1], "STATE", state).Replace(`
		CREATE FUNCTION SCHEMA.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'
			USING ERRCODE = 'STATE'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON SCHEMA.shards EXECUTE FUNCTION SCHEMA.refuse()`))
}
