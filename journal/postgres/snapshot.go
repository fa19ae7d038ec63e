package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
)

// snapshot is the part of the store that a batch of writes is decided against. It is changed along with the decisions,
// so that later writes of a batch see the earlier ones.
type snapshot struct {
	fences     map[journal.Shard]journal.Fence
	executions map[journal.ID]journal.RunID
	chains     map[journal.ID]journal.RunID // of executions
	over       map[journal.ID]bool          // executions
	used       map[journal.RunKey]bool      // runs to be started that were there before
	entries    map[entryKey]bool
	linked     map[linkKey]bool
	mail       mailboxes
}

func newSnapshot() *snapshot {
	return &snapshot{
		fences:     map[journal.Shard]journal.Fence{},
		executions: map[journal.ID]journal.RunID{},
		chains:     map[journal.ID]journal.RunID{},
		over:       map[journal.ID]bool{},
		used:       map[journal.RunKey]bool{},
		entries:    map[entryKey]bool{},
		linked:     map[linkKey]bool{},
		mail:       newMailboxes(),
	}
}

// dependencies are the rows that a batch of writes is decided by.
type dependencies struct {
	executions keys
	starts     keys // runs
	entries    entryNumbers
	links      linkRows
	mail       mailDependencies
}

func dependenciesOf(writes []*journal.Write) *dependencies {
	d := &dependencies{}
	for _, write := range writes {
		d.mail.add(write)
		d.executions.add(write.ID)
		if write.Start != nil {
			d.starts.addRun(write.Start.RunKey())
		}
		for i := range write.Entries {
			d.entries.addRun(journal.KeyOf(write.ID, write.Run))
			d.entries.seqs = append(d.entries.seqs, int64(write.Entries[i].Seq))
		}
		if write.Link != nil {
			d.links.add(journal.KeyOf(write.ID, write.Run), write.Link)
			d.executions.add(write.Link.Callee)
		}
	}
	return d
}

// entryNumbers name entries of runs.
type entryNumbers struct {
	keys
	seqs []int64
}

// readSnapshot opens the transaction, locks the fences and reads the rows that the writes depend
// on: one round trip.
//
// Each query sees the commits from before its begin, so another connection may commit between two of them. The rows
// that refuse a write are read before the rows that answer it: runs that are used before executions, the room in an
// inbox before its messages. So a start or a message that was committed in between is found, and the write is not
// refused.
func (s *Store) readSnapshot(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) (*snapshot, error) {
	snap, of := newSnapshot(), dependenciesOf(writes)
	b := &snapshotBatch{sql: &s.sql}
	b.Queue(stmtBegin)
	b.Queue(stmtLock)
	b.readUsed(snap, &of.starts)
	b.readExecutions(snap, &of.executions)
	b.readJournals(snap, of)
	b.readInboxes(snap, &of.mail)
	b.readOrigins(snap, &of.mail)
	return snap, conn.SendBatch(ctx, &b.Batch).Close()
}

// snapshotBatch is a batch of queries that fill a snapshot.
type snapshotBatch struct {
	pgx.Batch
	sql *statements
}

// each queues a query; note is told of each row, whose columns are in into then.
func (b *snapshotBatch) each(query string, args, into []any, note func()) {
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, into, func() error { note(); return nil })
		return err
	})
}

// readExecutions reads executions, and the fences of their shards.
func (b *snapshotBatch) readExecutions(snap *snapshot, all *keys) {
	var (
		shard          int16
		epoch          int64
		token          []byte
		id, run, chain []byte
		over           bool
	)
	b.each(
		`SELECT shard, epoch, token FROM `+b.sql.shards+` WHERE shard = ANY($1)`, []any{all.shards},
		[]any{&shard, &epoch, &token},
		func() { snap.fences[journal.Shard(shard)] = fenceOf(epoch, token) },
	)
	b.each(`SELECT id, run, coalesce(e.chain, e.run), e.state IN `+final+`
		FROM unnest($1::int2[], $2::bytea[]) AS w (shard, id) JOIN `+b.sql.executions+
		` e USING (shard, id) WHERE e.superseded = 0 * w.shard`,
		[]any{all.shards, all.ids}, []any{&id, &run, &chain, &over},
		func() {
			snap.executions[journal.ID(id)], snap.chains[journal.ID(id)] = journal.RunID(run), journal.RunID(chain)
			snap.over[journal.ID(id)] = over
		})
}

// readUsed reads which runs there were before.
func (b *snapshotBatch) readUsed(snap *snapshot, starts *keys) {
	if starts.len() == 0 {
		return
	}
	var shard int16
	var run []byte
	b.each(
		`SELECT shard, run FROM unnest($1::int2[], $2::bytea[]) AS n (shard, run) JOIN `+b.sql.retired+
			` r USING (shard, run)
		UNION ALL SELECT shard, run FROM unnest($1::int2[], $2::bytea[]) AS n (shard, run) JOIN `+b.sql.executions+
			` e USING (shard, run)`,
		[]any{starts.shards, starts.ids},
		[]any{&shard, &run},
		func() { snap.used[runKeyOf(shard, run)] = true },
	)
}

// readJournals reads which entries and links there are already.
func (b *snapshotBatch) readJournals(snap *snapshot, of *dependencies) {
	var (
		run, step []byte
		seq       int64
	)
	b.each(
		`SELECT w.run, w.seq FROM unnest($1::int2[], $2::bytea[], $3::int8[]) AS w (shard, run, seq) CROSS
			JOIN LATERAL (
			SELECT e.last FROM `+b.sql.entries+
			` e WHERE e.shard = w.shard AND e.run = w.run AND e.seq <= w.seq ORDER BY e.seq DESC LIMIT 1) AS before
		WHERE before.last >= w.seq`,
		[]any{of.entries.shards, of.entries.ids, of.entries.seqs},
		[]any{&run, &seq},
		func() { snap.entries[entryKey{journal.RunID(run), uint64(seq)}] = true },
	)
	b.each(
		`SELECT run, step FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, run, step) JOIN `+b.sql.links+
			` l USING (shard, run, step)`,
		[]any{of.links.shards, of.links.ids, of.links.steps}, []any{&run, &step},
		func() { snap.linked[linkKey{journal.RunID(run), journal.StepID(step)}] = true },
	)
}

// readOrigins reads which messages and receipts there are already, by their origins. Messages of all
// chains are read: a run that supersedes another asks for the other's.
func (b *snapshotBatch) readOrigins(snap *snapshot, of *mailDependencies) {
	var id, chain, origin []byte
	b.each(
		`SELECT id, t.chain, origin FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, origin) JOIN `+
			b.sql.inbox+` t USING (shard, id, origin)`,
		[]any{of.mailed.shards, of.mailed.ids, of.mailed.origins}, []any{&id, &chain, &origin},
		func() { snap.mail.mailed[mailKey{receiverOf(id, chain), journal.Origin(origin)}] = true },
	)
	b.each(
		`SELECT id, origin FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, origin) JOIN `+
			b.sql.receipts+` t USING (shard, id, origin)`,
		[]any{of.answered.shards, of.answered.ids, of.answered.origins}, []any{&id, &origin},
		func() { snap.mail.answered[receiptOf(journal.ID(id), journal.Origin(origin))] = true },
	)
}

// readInboxes reads the messages that are taken, and how full inboxes are.
func (b *snapshotBatch) readInboxes(snap *snapshot, of *mailDependencies) {
	var (
		id, chain, origin []byte
		position          int64
		size              int64
		parked            bool
		total, aside      tally
	)
	b.each(`SELECT id, chain, position, origin, bytes, parked IS NOT NULL
		FROM unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[]) AS w (shard, id, chain, position) JOIN `+
		b.sql.inbox+` i USING (shard, id, chain, position)`,
		[]any{of.takes.shards, of.takes.ids, of.takes.chains, of.takes.positions},
		[]any{&id, &chain, &position, &origin, &size, &parked},
		func() {
			there := snap.mail.messages
			if parked {
				there = snap.mail.parked
			}
			there[place{receiverOf(id, chain), uint64(position)}] = message{journal.Origin(origin), size}
		},
	)
	b.each(
		`SELECT id, chain, held.*, aside.* FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, chain)
			CROSS JOIN LATERAL (
			SELECT count(*), coalesce(sum(n.bytes), 0)::int8
			FROM (SELECT i.bytes FROM `+b.sql.inbox+
			` i WHERE i.shard = w.shard AND i.id = w.id AND i.chain = w.chain AND i.parked IS NULL
				LIMIT $4) AS n) AS held
		CROSS JOIN LATERAL (`+b.sql.countParked+`) AS aside`,
		[]any{of.receivers.shards, of.receivers.ids, of.receivers.chains, journal.MaxSentInbox + 1 + of.takes.len()},
		[]any{&id, &chain, &total.messages, &total.bytes, &aside.messages, &aside.bytes},
		func() {
			to := receiverOf(id, chain)
			if snap.mail.tallies[to] = total; to.Chain.IsZero() {
				snap.mail.aside[to] = aside
			}
		},
	)
}
