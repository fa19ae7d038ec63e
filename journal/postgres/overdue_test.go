package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// stubborn makes a function that the server cannot cancel, because it traps the cancellation;
// arithmetic with long numbers does the same without a trap. And a function that names the process
// of the server.
const stubborn = `CREATE FUNCTION SCHEMA__default.stubborn() RETURNS bigint LANGUAGE plpgsql AS $$
	BEGIN
		LOOP
			BEGIN
				PERFORM pg_sleep(3600);
			EXCEPTION WHEN query_canceled THEN NULL;
			END;
		END LOOP;
	END $$;
	CREATE FUNCTION SCHEMA__default.backend() RETURNS bigint LANGUAGE sql AS 'SELECT pg_backend_pid()'`

// backend is the process of the server that a transaction has.
func backend(t *testing.T, tx journal.GuestTx) any {
	t.Helper()
	_, rows, err := tx.Query(t.Context(), "SELECT backend()", nil)
	require.NoError(t, err)
	return rows[0][0]
}

// A statement that goes on beyond its limit, though the server was told to end it, is the activity's
// own failure: it has a code under which attempts are counted, and connections of others stay.
func TestStatementThatCannotBeCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{CallLimit: 2 * answerLimit, GuestTxLimit: 2 * answerLimit})
	b.deploy(t, "default", "CREATE TABLE t (a BIGINT)")
	_, err := b.admin.Exec(t.Context(), replaceSchema(stubborn, b.schema))
	require.NoError(t, err)
	stuck, other := b.begin(t, "default"), b.begin(t, "default")
	before := backend(t, other)
	require.NoError(t, other.Rollback(t.Context()))

	err = ends(t, func() error {
		_, _, err := stuck.Query(t.Context(), "SELECT stubborn()", nil)
		return err
	})
	require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err), "%v", err)
	_, err = stuck.Exec(t.Context(), "INSERT INTO t VALUES (1)", nil)
	require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err), "the transaction is over")
	require.Equal(t, before, backend(t, b.begin(t, "default")), "the pool was not given up")

	require.Eventually(t, func() bool { // the server notices that the host has hung up
		var n int
		err := b.admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE state = 'active' AND query LIKE '%stubborn()' AND application_name = 'cruster-guest'`).Scan(&n)
		return err == nil && n == 0
	}, patience, 10*time.Millisecond)
}
