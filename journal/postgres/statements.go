package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// Names under which the statements of a journal write are prepared on every connection. They are prepared at once, not
// at first use: inside a guest's transaction the name of a table of ours could not even be looked up.
const (
	stmtAttributes     = "cruster_attributes"
	stmtAttributesGone = "cruster_attributes_gone"
	stmtArrivals       = "cruster_arrivals"
	stmtBegin          = "cruster_begin"
	stmtBeginGuest     = "cruster_begin_guest"
	stmtCommit         = "cruster_commit"
	stmtConfine        = "cruster_confine"
	stmtConstraints    = "cruster_constraints"
	stmtContinue       = "cruster_continue"
	stmtDestroys       = "cruster_destroys"
	stmtEntities       = "cruster_entities"
	stmtEntries        = "cruster_entries"
	stmtFence          = "cruster_fence"
	stmtFenceLook      = "cruster_fence_look"
	stmtFenceRow       = "cruster_fence_row"
	stmtFresh          = "cruster_fresh"
	stmtHibernate      = "cruster_hibernate"
	stmtHoldMail       = "cruster_hold_mail"
	stmtLinks          = "cruster_links"
	stmtLinksLenient   = "cruster_links_lenient"
	stmtLock           = "cruster_lock"
	stmtLockRows       = "cruster_lock_rows"
	stmtLocks          = "cruster_locks"
	stmtMail           = "cruster_mail"
	stmtMailLenient    = "cruster_mail_lenient"
	stmtOwnRole        = "cruster_own_role"
	stmtPark           = "cruster_park"
	stmtPresent        = "cruster_present"
	stmtPublish        = "cruster_publish"
	stmtReceipts       = "cruster_receipts"
	stmtRoom           = "cruster_room"
	stmtStarts         = "cruster_starts"
	stmtStartsLenient  = "cruster_starts_lenient"
	stmtSupersede      = "cruster_supersede"
	stmtTakes          = "cruster_takes"
	stmtUnanswered     = "cruster_unanswered"
	stmtUnlocks        = "cruster_unlocks"
	stmtUnpark         = "cruster_unpark"
	stmtUpdates        = "cruster_updates"
)

// statements holds the SQL of one schema. All names in it are qualified, so that no search_path and no temporary table
// can come between.
type statements struct {
	table func(name string) string // qualifies a name

	shards, executions, entries, links          string // qualified names
	heartbeat, hibernated, modules, deployments string
	guestMigrations, inbox, receipts, entities  string
	schedules, locks, published, attributes     string
	retired                                     string
	countParked                                 string
	prepared                                    map[string]string
	reads                                       *sqlread.Queries
}

func newStatements(schema string) statements {
	q := func(name string) string { return quote(schema) + "." + quote(name) }
	st := statements{
		table:           q,
		shards:          q("shards"),
		executions:      q("executions"),
		entries:         q("entries"),
		links:           q("links"),
		heartbeat:       q("heartbeat"),
		hibernated:      q("hibernated"),
		modules:         q("modules"),
		deployments:     q("deployments"),
		guestMigrations: q("guest_migrations"),
		inbox:           q("inbox"),
		receipts:        q("receipts"),
		entities:        q("entities"),
		schedules:       q("schedules"),
		locks:           q("locks"),
		published:       q("published"),
		attributes:      q("attributes"),
		retired:         q("retired"),
		reads:           newReads(schema),
	}
	expand := strings.NewReplacer(
		"{shards}", st.shards, "{executions}", st.executions, "{entries}", st.entries, "{links}", st.links,
		"{hibernated}", st.hibernated, "{inbox}", st.inbox, "{receipts}", st.receipts, "{entities}", st.entities,
		"{locks}", st.locks, "{published}", st.published, "{attributes}", st.attributes, "{retired}", st.retired,
		"{expect}", q("expect"),
		"{fenced}", "'"+stateFenced+"'",
		"{missing}", "'"+stateMissing+"'",
		"{mail}", "'"+stateMail+"'",
		"{full}", "'"+stateFull+"'",
		"{taken}", "'"+stateTaken+"'",
		"{running}", running,
		"{now}", strconv.FormatInt(journal.Now, 10),
		"{max_parked}", strconv.Itoa(journal.MaxParked),
		"{max_parked_bytes}", strconv.Itoa(journal.MaxParkedBytes),
	)
	st.countParked = expand.Replace(countParked)
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
		interrupt, parent, parent_run, parent_step, created_at, finished_at, run, waiting, pinned, moved_at,
		section, chain, continued, request)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[],
		$8::text[],
		$9::bytea[], $10::bytea[], $11::int8[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bytea[], $16::int8[],
			$17::int8[],
		$18::bytea[], $19::bytea[], $20::bytea[], $21::int8[], $22::bytea[], $23::bytea[], $24::int8[], $25::bytea[])`

// retiredBefore adds to the row of a run that was retired before: a store may have rows of a run that was started
// twice, from before that was refused.
const retiredBefore = `
		ON CONFLICT (shard, run) DO UPDATE SET chain = coalesce(r.chain, excluded.chain), holds = r.holds
			OR excluded.holds`

const insertLinks = `
	INSERT INTO {links} (shard, run, step, callee, callee_run)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[])`

// arrived counts new messages in the row of their execution, and has it loaded if it is running.
const arrived = `arrivals = e.arrivals + new.messages, wake_at = CASE WHEN {running} THEN {now} ELSE e.wake_at END`

// countParked counts the parked messages of the entity w, and their bytes.
const countParked = `
	SELECT count(*), coalesce(sum(p.bytes), 0)::int8
	FROM (SELECT i.bytes FROM {inbox} i WHERE i.shard = w.shard AND i.id = w.id AND i.parked IS NOT NULL
		LIMIT {max_parked}) AS p`

const insertMail = `
	INSERT INTO {inbox} (shard, id, chain, origin, kind, name, at, repeatable, held, bytes, sender, sender_run, step,
		value)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[], $5::text[], $6::text[], $7::int8[],
		$8::bool[], $9::bool[], $10::int8[],
		$11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[])
		AS m (shard, id, chain, origin, kind, name, at, repeatable, held, bytes, sender, sender_run, step, value)`

// A statement that finds rows by key compares their other columns with nothing that is constant and that an index has,
// be it as a column or as its condition. While a table has no statistics the server prefers one walk through such an
// index to a look-up for each key, and keeps to that plan while the table grows. So the number of the current run, 0,
// is computed from the row of the statement, and the state is compared in a form that no index has.
const running = `e.state || '' = 'running'`

// expected are the current runs of executions, if they are as expected.
const expected = `e.shard = w.shard AND e.id = w.id AND e.superseded = 0 * w.shard
	AND (w.run IS NULL OR e.run = w.run) AND (w.chain IS NULL OR coalesce(e.chain, e.run) = w.chain)`

// journalStatements are the statements of journal writes. Each takes columns as arrays, so that a
// batch of any size is a handful of statements. Lenient ones pass over rows that exist and tell
// which were new; all others stop the transaction if a row is there and should not be, or the
// reverse.
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
	FROM unnest($1::int2[], $2::int8[], $4::bytea[]) AS w (shard, epoch, token) JOIN {shards} s
		USING (shard, epoch, token)`,

	stmtFenceRow: `
	SELECT {expect}(count(*), 1, {fenced})
	FROM (SELECT FROM {shards} WHERE shard = $1 AND epoch = $2 AND token = $3 FOR SHARE) AS owned`,

	stmtFenceLook: `
	SELECT {expect}(count(*), 1, {fenced}) FROM {shards} WHERE shard = $1 AND epoch = $2 AND token = $3`,

	stmtStarts:        insertStarts,
	stmtStartsLenient: insertStarts + ` ON CONFLICT DO NOTHING RETURNING id`,

	// It is another statement than the starts', so that it sees the deletion of the row which a start waited for.
	stmtFresh: `
	SELECT {expect}(count(*), 0, {taken}) FROM unnest($1::int2[], $2::bytea[]) AS n (shard, run)
	WHERE EXISTS (SELECT FROM {retired} r WHERE r.shard = n.shard AND r.run = n.run` + lookUp + `
		OR EXISTS (SELECT FROM {executions} e WHERE e.shard = n.shard AND e.run = n.run AND e.superseded > 0` + lookUp,

	stmtPresent: `
	SELECT {expect}(count(*), $5, {missing})
	FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[]) AS w (shard, id, run, chain)
		JOIN {executions} e ON ` + expected,

	stmtLockRows: `
	SELECT {expect}(count(*), $6, {missing})
	FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[], $5::int2[], $7::bool[]) AS w (shard, id, run, chain,
		mode, open) CROSS JOIN LATERAL (
		SELECT locked.state FROM (SELECT e.state FROM {executions} e WHERE w.mode = 1 AND ` + expected +
		` FOR KEY SHARE) AS locked UNION ALL
		SELECT locked.state FROM (SELECT e.state FROM {executions} e WHERE w.mode = 2 AND e.finished_at = 0 AND ` +
		expected + ` FOR NO KEY UPDATE) AS locked UNION ALL
		SELECT locked.state FROM (SELECT e.state FROM {executions} e WHERE (w.mode = 3 OR w.mode = 2
			AND e.finished_at > 0) AND ` + expected + ` FOR UPDATE) AS locked) AS locked
	WHERE NOT w.open OR locked.state NOT IN ` + final,

	stmtEntries: `
	WITH new AS (SELECT * FROM unnest($1::int2[], $2::bytea[], $3::int8[], $4::int8[], $5::bytea[]) AS n (shard, run,
		seq, last, body)),
	added AS (INSERT INTO {entries} (shard, run, seq, last, body) SELECT * FROM new)
	SELECT
		{expect}((SELECT count(*) FROM new n JOIN {executions} e USING (shard, run) WHERE e.superseded = 0 * n.shard
			AND e.state NOT IN ` + final + `), $6, {missing}),
		{expect}((SELECT count(*) FROM new n CROSS JOIN LATERAL (
			SELECT e.last FROM {entries} e WHERE e.shard = n.shard AND e.run = n.run AND e.seq <= n.last
				ORDER BY e.seq DESC LIMIT 1) AS before
			WHERE before.last >= n.seq), 0, {taken})`,

	stmtUpdates: `
	WITH changed AS (
		UPDATE {executions} e SET state = u.state,
			wake_at = CASE WHEN u.state = 'running' AND e.arrivals > u.arrivals THEN {now} ELSE u.wake_at END,
			value = u.value, error = u.error, finished_at = u.finished_at,
			waiting = u.waiting, digest = CASE u.digest WHEN '' THEN e.digest
				ELSE u.digest END, moved_at = greatest(e.moved_at, u.moved_at),
			section = u.section, interrupt = coalesce(e.interrupt, u.interrupt)
		FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::text[], $5::int8[], $6::bytea[], $7::bytea[], $8::int8[],
			$9::bytea[], $10::text[], $11::int8[],
				$13::bytea[], $14::bytea[], $15::bytea[], $16::int8[])
			AS u (shard, id, run, state, wake_at, value, error, finished_at, waiting, digest, moved_at, section, chain,
				interrupt, arrivals)
		WHERE e.shard = u.shard AND e.id = u.id AND e.superseded = 0 * u.shard AND e.run = u.run
			AND coalesce(e.chain, e.run) = u.chain RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM changed), $12, {missing})`,

	stmtHibernate: `
	WITH saved AS (
		SELECT * FROM unnest($1::int2[], $2::bytea[], $3::int8[], $4::bytea[]) AS s (shard, run, seq, body)
	), woken AS (
		DELETE FROM {hibernated} h USING saved s WHERE h.shard = s.shard AND h.run = s.run AND s.body IS NULL
	)
	INSERT INTO {hibernated} (shard, run, seq, body)
	SELECT s.* FROM saved s JOIN {executions} e USING (shard, run) WHERE s.body IS NOT NULL
		AND e.state IN ('running', 'paused')
	ON CONFLICT (shard, run) DO UPDATE SET seq = excluded.seq, body = excluded.body`,

	stmtLinks:        insertLinks,
	stmtLinksLenient: insertLinks + ` ON CONFLICT DO NOTHING RETURNING run, step`,

	stmtArrivals: `
	UPDATE {executions} e SET ` + arrived +
		` FROM unnest($1::int2[], $2::bytea[], $3::int8[]) AS new (shard, id, messages)
	WHERE e.shard = new.shard AND e.id = new.id AND e.superseded = 0 * new.shard`,

	// Inboxes: see mail.go.

	stmtRoom: `
	SELECT {expect}(count(*), 0, {full})
	FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[], $5::int8[], $6::int8[], $7::int8[])
		AS w (shard, id, chain, messages, bytes, most, most_bytes)
	CROSS JOIN LATERAL (
		SELECT count(*) AS messages, coalesce(sum(n.bytes), 0) AS bytes
		FROM (SELECT i.bytes FROM {inbox} i WHERE i.shard = w.shard AND i.id = w.id AND i.chain = w.chain
			AND i.parked IS NULL LIMIT w.most) AS n) AS there
	CROSS JOIN LATERAL (` + countParked + `) AS aside (messages, bytes)
	WHERE there.messages + w.messages > w.most OR there.bytes + w.bytes > w.most_bytes OR w.chain = ''
		AND (aside.messages >= {max_parked} OR aside.bytes >= {max_parked_bytes})`,

	stmtTakes: `
	WITH gone AS (
		DELETE FROM {inbox} i USING unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[]) AS t (shard, id, chain,
			position)
		WHERE i.shard = t.shard AND i.id = t.id AND i.chain = t.chain AND i.position = t.position AND i.parked IS NULL
			RETURNING i.shard, i.id, i.chain, i.origin)
	SELECT {expect}((SELECT count(*) FROM gone), $5, {mail}),
		{expect}((SELECT count(*) FROM unnest($6::int2[], $7::bytea[], $8::bytea[], $9::bytea[]) AS p (shard, id, chain,
			origin)
			JOIN gone USING (shard, id, chain, origin)), 0, {mail})`,

	stmtHoldMail: `
	WITH kept AS (
		UPDATE {inbox} i SET held = true FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[]) AS h (shard, id,
			chain, position)
		WHERE i.shard = h.shard AND i.id = h.id AND i.chain = h.chain AND i.position = h.position AND i.parked IS NULL
			RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM kept), $5, {mail})`,

	stmtPark: `
	WITH parked AS (
		UPDATE {inbox} i SET parked = p.body, namespace = p.namespace, type = p.type, key = p.key
		FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[], $5::bytea[], $6::text[], $7::text[], $8::text[])
			AS p (shard, id, chain, position, body, namespace, type, key)
		WHERE i.shard = p.shard AND i.id = p.id AND i.chain = p.chain AND i.position = p.position AND i.parked IS NULL
			RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM parked), $9, {mail})`,

	stmtUnpark: `
	WITH back AS (
		UPDATE {inbox} i SET parked = NULL, namespace = NULL, type = NULL, key = NULL
		FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[]) AS p (shard, id, chain, position)
		WHERE i.shard = p.shard AND i.id = p.id AND i.chain = p.chain AND i.position = p.position
			AND coalesce(i.parked, '') <> '' RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM back), $5, {mail})`,

	stmtReceipts: `
	INSERT INTO {receipts} (shard, id, origin, at, sender, sender_run, step, error, value)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[],
		$8::bytea[], $9::bytea[])`,

	stmtMail: insertMail + ` RETURNING id, chain, origin, position`,

	stmtMailLenient: `
	WITH put AS (` + insertMail + ` WHERE NOT EXISTS (
		SELECT FROM {receipts} r WHERE r.shard = m.shard AND r.id = m.id AND r.origin = m.origin)
		ON CONFLICT DO NOTHING RETURNING shard, id, chain, origin, position, kind, sender),
	received AS (
		SELECT p.shard, p.id, count(*) AS messages FROM put p
		WHERE p.kind <> 'result' AND (p.sender IS NULL OR p.kind NOT IN ('interrupt', 'terminate'))
			AND p.id = ANY($15::bytea[]) GROUP BY p.shard, p.id),
	counted AS (UPDATE {executions} e SET ` + arrived +
		` FROM received new WHERE e.shard = new.shard AND e.id = new.id AND e.superseded = 0 * new.shard)
	SELECT id, chain, origin, position FROM put`,

	stmtUnanswered: `
	SELECT {expect}(count(*), 0, {mail})
	FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[]) AS m (shard, id, chain, origin)
		JOIN {inbox} i USING (shard, id, chain, origin) JOIN {receipts} r USING (shard, id, origin)
	WHERE i.xmin = pg_current_xact_id()::xid AND r.xmin <> pg_current_xact_id()::xid`,

	stmtEntities: `
	INSERT INTO {entities} (shard, id, namespace, type, key, version, created_at, updated_at, state)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::int8[],
		$8::int8[], $9::bytea[])
	ON CONFLICT (shard, id) DO UPDATE SET version = excluded.version, created_at = excluded.created_at,
		updated_at = excluded.updated_at, state = excluded.state`,

	stmtDestroys: `
	DELETE FROM {entities} e USING unnest($1::int2[], $2::bytea[]) AS d (shard, id) WHERE e.shard = d.shard
		AND e.id = d.id`,

	stmtLocks: `
	INSERT INTO {locks} (shard, id, namespace, type, key, holder, holder_run, holder_step, since)
	SELECT * FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[],
		$8::bytea[], $9::int8[])
	ON CONFLICT (shard, id) DO UPDATE SET holder = excluded.holder, holder_run = excluded.holder_run,
		holder_step = excluded.holder_step,
		since = excluded.since, namespace = excluded.namespace, type = excluded.type, key = excluded.key`,

	stmtUnlocks: `
	DELETE FROM {locks} l USING unnest($1::int2[], $2::bytea[]) AS d (shard, id) WHERE l.shard = d.shard
		AND l.id = d.id`,

	stmtPublish: `
	INSERT INTO {published} (shard, run, body) SELECT * FROM unnest($1::int2[], $2::bytea[], $3::bytea[])
	ON CONFLICT (shard, run) DO UPDATE SET body = excluded.body`,

	stmtAttributesGone: `
	DELETE FROM {attributes} a USING unnest($1::int2[], $2::bytea[]) AS p (shard, id)
	WHERE a.shard = p.shard AND a.id = p.id AND NOT EXISTS (
		SELECT FROM unnest($3::bytea[], $4::text[]) AS n (id, name) WHERE n.id = a.id AND n.name = a.name)`,

	stmtAttributes: `
	INSERT INTO {attributes} AS a (shard, id, name, type, text, number, namespace, created_at)
	SELECT n.*, e.namespace, e.created_at
	FROM unnest($1::int2[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::float8[]) AS n (shard, id, name, type,
		text, number)
		JOIN {executions} e USING (shard, id) WHERE e.superseded = 0 * n.shard
	ON CONFLICT (shard, id, name) DO UPDATE SET type = excluded.type, text = excluded.text, number = excluded.number
	WHERE (a.type, a.text, a.number) <> (excluded.type, excluded.text, excluded.number)`,

	// Replacing runs: see earlier.go and continue.go.

	stmtSupersede: `
	WITH old AS (SELECT * FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS o (shard, id, run)),
	nameless AS (DELETE FROM {attributes} a USING old o WHERE a.shard = o.shard AND a.id = o.id),
	changed AS (
		UPDATE {executions} e SET superseded = 1 + (SELECT max(x.superseded) FROM {executions} x WHERE x.shard = e.shard
			AND x.id = e.id)
		FROM old o WHERE e.shard = o.shard AND e.id = o.id AND e.superseded = 0 * o.shard AND e.run = o.run
			AND e.state IN ` + final + ` RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM changed), $4, {missing})`,

	stmtContinue: `
	WITH next AS (
		SELECT * FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::bytea[],
			$10::bytea[])
			AS n (shard, id, run, next, input, digest, pinned, chain)
	), released AS (UPDATE {inbox} x SET held = false FROM next n WHERE x.shard = n.shard AND x.id = n.id
		AND x.chain = n.chain AND x.held),
	retired AS (
		INSERT INTO {retired} AS r (shard, run, id, holds)
		SELECT e.shard, e.run, e.id, e.holds FROM {executions} e JOIN next n USING (shard, id, run)
			WHERE e.superseded = 0 * n.shard` + retiredBefore + `),
	changed AS (
		UPDATE {executions} e SET chain = coalesce(e.chain, e.run), run = n.next, continued = e.continued + 1,
			input = n.input, digest = n.digest,
			pinned = n.pinned, state = 'running', wake_at = {now}, waiting = $8, finished_at = 0, value = NULL,
				error = NULL, moved_at = 0,
			section = NULL, holds = false
		FROM next n WHERE e.shard = n.shard AND e.id = n.id AND e.superseded = 0 * n.shard AND e.run = n.run
			RETURNING 1)
	SELECT {expect}((SELECT count(*) FROM changed), $9, {missing})`,
}
