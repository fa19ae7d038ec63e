package ops_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// onOwnDatabase is a place in a database whose settings concern no other test.
func onOwnDatabase(t *testing.T) (at place, name string) {
	name, schema := pgtest.Schema(t), pgtest.Schema(t)
	administer(t, `CREATE DATABASE `+name)
	t.Cleanup(func() { administer(t, `DROP DATABASE `+name+` WITH (FORCE)`) })
	u, err := url.Parse(pgtest.DSN(t))
	require.NoError(t, err)
	u.Path = "/" + name
	return place{u.String(), []string{"--schema", schema}, func() (journal.Store, error) {
		return postgres.Open(t.Context(), postgres.Config{DSN: u.String(), Schema: schema})
	}}, name
}

func administer(t *testing.T, sql string, args ...any) {
	t.Helper()
	ctx := context.Background() // also for cleanups at the end of a test
	admin, err := pgx.Connect(ctx, pgtest.DSN(t))
	require.NoError(t, err)
	defer admin.Close(ctx)
	_, err = admin.Exec(ctx, sql, args...)
	require.NoError(t, err)
}

// readiness asks a host whether it is ready.
func readiness(t *testing.T, p *harness.Process) (status int, reason string) {
	res, err := http.Get("http://" + p.HTTP + "/readyz")
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

// TestReadinessFollowsCommits: a host whose database answers and does not commit says that it is not ready. When the
// database commits again, so does the host, without a restart, and it finishes its executions.
func TestReadinessFollowsCommits(t *testing.T) {
	t.Parallel()
	at, database := onOwnDatabase(t)
	p := at.host(t)
	push(t, p)
	l := startLoad(t, p)
	harness.Eventually(t, "there is load", func() bool { return l.count() > 20 })

	// The setting holds for new sessions: the present ones end, as they do when a database fails over.
	administer(t, `ALTER DATABASE `+database+` SET default_transaction_read_only = on`)
	administer(
		t,
		`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1
			AND application_name LIKE 'cruster%'`,
		database,
	)
	harness.Eventually(t, "the host is not ready", func() bool {
		status, reason := readiness(t, p)
		return status == http.StatusServiceUnavailable && len(reason) > 0
	})
	reasons := map[string]int{}
	for asked, said := 0, 0; said < 20; asked++ {
		require.Less(t, asked, 200, "the host named the database as the reason %d times: %v", said, reasons)
		status, reason := readiness(t, p)
		require.Equal(t, http.StatusServiceUnavailable, status, reason)
		reasons[reason]++
		if strings.Contains(reason, "CR-5008") {
			continue // the time for an answer was over before the database had one
		}
		require.Contains(t, reason, "CR-5005")
		said++
	}
	started := l.count()
	administer(t, `ALTER DATABASE `+database+` RESET default_transaction_read_only`)
	harness.Eventually(t, "the host is ready", func() bool {
		status, _ := readiness(t, p)
		return status == http.StatusOK
	})
	harness.Eventually(t, "the host commits", func() bool { return l.count() > started })
	finish(t, at, p, l.stop())
}
