package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Names under which the statements of a journal write are prepared on every
// connection. They are prepared at once, not at first use: inside a guest's
// transaction the name of a table of ours could not even be looked up.
const (
	stmtBegin          = "cruster_begin"
	stmtBeginGuest     = "cruster_begin_guest"
	stmtCommit         = "cruster_commit"
	stmtConfine        = "cruster_confine"
	stmtConstraints    = "cruster_constraints"
	stmtEntries        = "cruster_entries"
	stmtFence          = "cruster_fence"
	stmtFenceRow       = "cruster_fence_row"
	stmtHeld           = "cruster_held"
	stmtInterrupts     = "cruster_interrupts"
	stmtLock           = "cruster_lock"
	stmtLockRows       = "cruster_lock_rows"
	stmtOwnRole        = "cruster_own_role"
	stmtPresent        = "cruster_present"
	stmtSettles        = "cruster_settles"
	stmtSettlesLenient = "cruster_settles_lenient"
	stmtStarts         = "cruster_starts"
	stmtStartsLenient  = "cruster_starts_lenient"
	stmtUpdates        = "cruster_updates"
)

// statements holds the SQL of one schema. All names in it are qualified, so
// that no search_path and no temporary table can come between.
type statements struct {
	shards, executions, entries, deferreds string // qualified names
	modules, deployments, guestMigrations  string
	prepared                               map[string]string
}

func newStatements(schema string) statements {
	q := func(name string) string { return quote(schema) + "." + quote(name) }
	st := statements{
		shards: q("shards"), executions: q("executions"), entries: q("entries"), deferreds: q("deferreds"),
		modules: q("modules"), deployments: q("deployments"), guestMigrations: q("guest_migrations"),
	}
	expand := strings.NewReplacer(
		"{shards}", st.shards, "{executions}", st.executions, "{entries}", st.entries, "{deferreds}", st.deferreds,
		"{expect}", q("expect"), "{fenced}", "'"+stateFenced+"'", "{missing}", "'"+stateMissing+"'",
	)
	st.prepared = make(map[string]string, len(journalStatements))
	for name, text := range journalStatements {
		st.prepared[name] = expand.Replace(text)
	}
	return st
}

// prepare readies a new connection.
func (st *statements) prepare(ctx context.Context, conn *pgx.Conn) error {
	for name, text := range st.prepared {
		if _, err := conn.Prepare(ctx, name, text); err != nil {
			return fmt.Errorf("postgres: prepare %s: %w", name, err)
		}
	}
	return nil
}

const insertStarts = `
	INSERT INTO {executions} (shard, id, namespace, workflow, key, digest, input, state, value, error, wake_at,
		interrupt, parent, parent_op, created_at, finished_at)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::text[],
		$9::bytea[], $10::bytea[], $11::int8[], $12::bytea[], $13::bytea[], $14::int8[], $15::int8[], $16::int8[])`

const insertSettles = `
	INSERT INTO {deferreds} (shard, id, name, value, error, at)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::bytea[], $5::bytea[], $6::int8[])`

// journalStatements are what a journal write is made of. Each takes columns as
// arrays, so that a batch of any size is a handful of statements. Lenient ones
// pass over rows that exist and tell which were new; all others stop the
// transaction if a row is there that should not be, or is not that should.
var journalStatements = map[string]string{
	stmtBegin:      `BEGIN ISOLATION LEVEL READ COMMITTED`,
	stmtBeginGuest: `BEGIN ISOLATION LEVEL REPEATABLE READ`,
	stmtCommit:     `COMMIT`,
	stmtLock:       `LOCK TABLE {shards} IN SHARE MODE`,

	stmtConfine:     confineSQL,
	stmtConstraints: `SET CONSTRAINTS ALL IMMEDIATE`,
	stmtOwnRole:     setRole(""),

	stmtFence: `
	SELECT {expect}(count(*), $3, {fenced})
	FROM unnest($1::int2[], $2::int8[]) AS w (shard, epoch) JOIN {shards} s USING (shard, epoch)`,

	stmtFenceRow: `
	SELECT {expect}(count(*), 1, {fenced})
	FROM (SELECT FROM {shards} WHERE shard = $1 AND epoch = $2 FOR SHARE) AS owned`,

	stmtStarts:        insertStarts,
	stmtStartsLenient: insertStarts + ` ON CONFLICT DO NOTHING RETURNING id`,

	stmtPresent: `
	SELECT {expect}(count(*), $3, {missing})
	FROM unnest($1::int2[], $2::bytea[]) AS w (shard, id) JOIN {executions} e USING (shard, id)`,

	stmtHeld: `
	SELECT {expect}(count(*), $3, {missing}) FROM (
		SELECT FROM unnest($1::int2[], $2::bytea[]) AS w (shard, id) JOIN {executions} e USING (shard, id)
		FOR KEY SHARE OF e) AS held`,

	stmtLockRows: `
	SELECT {expect}(count(*), $3, {missing}) FROM (
		SELECT FROM unnest($1::int2[], $2::bytea[]) AS w (shard, id) JOIN {executions} e USING (shard, id)
		FOR NO KEY UPDATE OF e) AS locked`,

	stmtEntries: `
	INSERT INTO {entries} (shard, id, seq, entry)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::int8[], $4::bytea[])`,

	stmtUpdates: `
	WITH changed AS (
		UPDATE {executions} e SET state = u.state, wake_at = u.wake_at, value = u.value, error = u.error, finished_at = u.finished_at
		FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::int8[], $5::bytea[], $6::bytea[], $7::int8[])
			AS u (shard, id, state, wake_at, value, error, finished_at)
		WHERE e.shard = u.shard AND e.id = u.id RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM changed), $8, {missing})`,

	stmtInterrupts: `
	WITH changed AS (
		UPDATE {executions} e SET interrupt = COALESCE(e.interrupt, u.interrupt)
		FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS u (shard, id, interrupt)
		WHERE e.shard = u.shard AND e.id = u.id RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM changed), $4, {missing})`,

	stmtSettles:        insertSettles,
	stmtSettlesLenient: insertSettles + ` ON CONFLICT DO NOTHING RETURNING id, name`,
}
