package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

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
	stmtFenceLook      = "cruster_fence_look"
	stmtFenceRow       = "cruster_fence_row"
	stmtHeld           = "cruster_held"
	stmtHibernate      = "cruster_hibernate"
	stmtInterrupts     = "cruster_interrupts"
	stmtLinks          = "cruster_links"
	stmtLinksLenient   = "cruster_links_lenient"
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
	shards, executions, entries, deferreds, links string // qualified names
	heartbeat, hibernated, modules, deployments   string
	guestMigrations, schedules                    string
	prepared                                      map[string]string
}

func newStatements(schema string) statements {
	q := func(name string) string { return quote(schema) + "." + quote(name) }
	st := statements{
		shards: q("shards"), executions: q("executions"), entries: q("entries"), deferreds: q("deferreds"), links: q("links"),
		heartbeat: q("heartbeat"), hibernated: q("hibernated"), modules: q("modules"), deployments: q("deployments"), guestMigrations: q("guest_migrations"),
		schedules: q("schedules"),
	}
	expand := strings.NewReplacer(
		"{shards}", st.shards, "{executions}", st.executions, "{entries}", st.entries, "{deferreds}", st.deferreds, "{links}", st.links,
		"{hibernated}", st.hibernated,
		"{expect}", q("expect"), "{fenced}", "'"+stateFenced+"'", "{missing}", "'"+stateMissing+"'",
	)
	st.prepared = make(map[string]string, len(journalStatements))
	for name, text := range journalStatements {
		st.prepared[name] = expand.Replace(text)
	}
	return st
}

// prepare readies a new connection. The limit is for each statement.
func (st *statements) prepare(ctx context.Context, conn *pgx.Conn, limit time.Duration) error {
	for name, text := range st.prepared {
		err := inTime(ctx, limit, func(ctx context.Context) error {
			_, err := conn.Prepare(ctx, name, text)
			return err
		})
		if err != nil {
			return fmt.Errorf("postgres: prepare %s: %w", name, err)
		}
	}
	return nil
}

const insertStarts = `
	INSERT INTO {executions} (shard, id, namespace, workflow, key, digest, input, state, value, error, wake_at,
		interrupt, parent, parent_run, parent_step, created_at, finished_at, run, waiting, pinned, moved_at)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::text[],
		$9::bytea[], $10::bytea[], $11::int8[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bytea[], $16::int8[], $17::int8[],
		$18::bytea[], $19::bytea[], $20::bytea[], $21::int8[])`

const insertSettles = `
	INSERT INTO {deferreds} (shard, id, name, value, error, at, origin)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::bytea[], $5::bytea[], $6::int8[], $7::bytea[])`

const insertLinks = `
	INSERT INTO {links} (shard, id, step, callee, callee_run)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[])`

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
	FROM unnest($1::int2[], $2::int8[], $4::bytea[]) AS w (shard, epoch, token) JOIN {shards} s USING (shard, epoch, token)`,

	stmtFenceRow: `
	SELECT {expect}(count(*), 1, {fenced})
	FROM (SELECT FROM {shards} WHERE shard = $1 AND epoch = $2 AND token = $3 FOR SHARE) AS owned`,

	stmtFenceLook: `
	SELECT {expect}(count(*), 1, {fenced}) FROM {shards} WHERE shard = $1 AND epoch = $2 AND token = $3`,

	stmtStarts:        insertStarts,
	stmtStartsLenient: insertStarts + ` ON CONFLICT DO NOTHING RETURNING id`,

	stmtPresent: `
	SELECT {expect}(count(*), $4, {missing})
	FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, run) JOIN {executions} e USING (shard, id, run)`,

	stmtHeld: `
	SELECT {expect}(count(*), $4, {missing}) FROM (
		SELECT FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, run) JOIN {executions} e USING (shard, id, run)
		FOR KEY SHARE OF e) AS held`,

	stmtLockRows: `
	SELECT {expect}(count(*), $4, {missing}) FROM (
		SELECT FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, run) JOIN {executions} e USING (shard, id, run)
		FOR NO KEY UPDATE OF e) AS locked`,

	stmtEntries: `
	INSERT INTO {entries} (shard, id, seq, entry)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::int8[], $4::bytea[])`,

	stmtUpdates: `
	WITH changed AS (
		UPDATE {executions} e SET state = u.state, wake_at = u.wake_at, value = u.value, error = u.error, finished_at = u.finished_at,
			waiting = u.waiting, digest = CASE u.digest WHEN '' THEN e.digest ELSE u.digest END, moved_at = greatest(e.moved_at, u.moved_at)
		FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::text[], $5::int8[], $6::bytea[], $7::bytea[], $8::int8[], $9::bytea[], $10::text[], $11::int8[])
			AS u (shard, id, run, state, wake_at, value, error, finished_at, waiting, digest, moved_at)
		WHERE e.shard = u.shard AND e.id = u.id AND e.run = u.run RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM changed), $12, {missing})`,

	stmtInterrupts: `
	WITH changed AS (
		UPDATE {executions} e SET interrupt = COALESCE(e.interrupt, u.interrupt)
		FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[]) AS u (shard, id, run, interrupt)
		WHERE e.shard = u.shard AND e.id = u.id AND e.run = u.run RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM changed), $5, {missing})`,

	stmtHibernate: `
	WITH saved AS (
		SELECT * FROM unnest($1::int2[], $2::bytea[], $3::int8[], $4::bytea[]) AS s (shard, id, seq, body)
	), woken AS (
		DELETE FROM {hibernated} h USING saved s WHERE h.shard = s.shard AND h.id = s.id AND s.body IS NULL
	)
	INSERT INTO {hibernated} (shard, id, seq, body)
	SELECT s.* FROM saved s JOIN {executions} e USING (shard, id) WHERE s.body IS NOT NULL AND e.state IN ('running', 'paused')
	ON CONFLICT (shard, id) DO UPDATE SET seq = excluded.seq, body = excluded.body`,

	stmtLinks:        insertLinks,
	stmtLinksLenient: insertLinks + ` ON CONFLICT DO NOTHING RETURNING id, step`,

	stmtSettles:        insertSettles,
	stmtSettlesLenient: insertSettles + ` ON CONFLICT DO NOTHING RETURNING id, name`,
}
