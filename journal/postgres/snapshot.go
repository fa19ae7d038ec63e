package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
)

// snapshot is the part of the store that a batch of writes is decided against. It
// is changed along with the decisions, so that later writes of a batch see the
// earlier ones.
type snapshot struct {
	fences     map[journal.Shard]journal.Fence
	executions map[journal.ID]journal.RunID
	chains     map[journal.ID]journal.RunID // of executions
	over       map[journal.ID]bool          // executions
	replaced   map[journal.RunID]*replaced  // by the run that takes its place
	entries    map[entryKey]bool
	settled    map[settlement]bool
	linked     map[linkKey]bool
	mail       mailboxes
}

func newSnapshot() *snapshot {
	return &snapshot{
		fences:     map[journal.Shard]journal.Fence{},
		executions: map[journal.ID]journal.RunID{},
		chains:     map[journal.ID]journal.RunID{},
		over:       map[journal.ID]bool{},
		replaced:   map[journal.RunID]*replaced{},
		entries:    map[entryKey]bool{},
		settled:    map[settlement]bool{},
		linked:     map[linkKey]bool{},
		mail:       newMailboxes(),
	}
}

// dependencies are the rows that a batch of writes is decided by.
type dependencies struct {
	executions keys
	entries    entryRows
	settles    settleRows
	links      linkRows
	mail       mailDependencies
}

func dependenciesOf(writes []*journal.Write) *dependencies {
	d := &dependencies{}
	for _, write := range writes {
		d.mail.add(write)
		d.executions.add(write.ID)
		for i := range write.Entries {
			d.entries.keys.add(write.ID)
			d.entries.seqs = append(d.entries.seqs, int64(write.Entries[i].Seq))
		}
		if write.Settle != nil {
			d.settles.keys.add(write.ID)
			d.settles.names = append(d.settles.names, write.Settle.Name)
		}
		if write.Link != nil {
			d.links.add(write.ID, write.Link)
			d.executions.add(write.Link.Callee)
		}
	}
	return d
}

// readSnapshot opens the transaction, locks the fences and reads what the writes depend on: one
// round trip.
func (s *Store) readSnapshot(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) (*snapshot, error) {
	snap, of := newSnapshot(), dependenciesOf(writes)
	b := &snapshotBatch{sql: &s.sql}
	b.Queue(stmtBegin)
	b.Queue(stmtLock)
	b.readExecutions(snap, &of.executions)
	b.readJournals(snap, of)
	b.readOrigins(s.sql.inbox, &of.mail.mailed, snap.mail.mailed)
	b.readOrigins(s.sql.receipts, &of.mail.answered, snap.mail.answered)
	b.readInboxes(snap, &of.mail)
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
	b.each(`SELECT shard, epoch, token FROM `+b.sql.shards+` WHERE shard = ANY($1)`, []any{all.shards}, []any{&shard, &epoch, &token},
		func() { snap.fences[journal.Shard(shard)] = fenceOf(epoch, token) })
	b.each(`SELECT id, run, coalesce(e.chain, e.run), e.state IN `+final+` FROM unnest($1::int2[], $2::bytea[]) AS w (shard, id) JOIN `+b.sql.executions+` e USING (shard, id)`,
		[]any{all.shards, all.ids}, []any{&id, &run, &chain, &over},
		func() {
			snap.executions[journal.ID(id)], snap.chains[journal.ID(id)] = journal.RunID(run), journal.RunID(chain)
			snap.over[journal.ID(id)] = over
		})
}

// readJournals reads which entries, settlements and links there are already.
func (b *snapshotBatch) readJournals(snap *snapshot, of *dependencies) {
	var (
		id, step []byte
		seq      int64
		name     string
	)
	b.each(`SELECT id, step FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, step) JOIN `+b.sql.links+` l USING (shard, id, step)`,
		[]any{of.links.shards, of.links.ids, of.links.steps}, []any{&id, &step},
		func() { snap.linked[linkKey{journal.ID(id), journal.StepID(step)}] = true })
	b.each(`SELECT id, seq FROM unnest($1::int2[], $2::bytea[], $3::int8[]) AS w (shard, id, seq) JOIN `+b.sql.entries+` e USING (shard, id, seq)`,
		[]any{of.entries.shards, of.entries.ids, of.entries.seqs}, []any{&id, &seq},
		func() { snap.entries[entryKey{journal.ID(id), uint64(seq)}] = true })
	b.each(`SELECT id, name FROM unnest($1::int2[], $2::bytea[], $3::text[]) AS w (shard, id, name) JOIN `+b.sql.deferreds+` d USING (shard, id, name)`,
		[]any{of.settles.shards, of.settles.ids, of.settles.names}, []any{&id, &name},
		func() { snap.settled[settlement{journal.ID(id), name}] = true })
}

// readOrigins reads which messages a table has already, by their origins.
func (b *snapshotBatch) readOrigins(table string, of *mailKeys, known map[mailKey]bool) {
	var id, origin []byte
	b.each(`SELECT id, origin FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, origin) JOIN `+table+` t USING (shard, id, origin)`,
		[]any{of.shards, of.ids, of.origins}, []any{&id, &origin},
		func() { known[mailKey{journal.ID(id), journal.Origin(origin)}] = true })
}

// readInboxes reads the messages that are taken, and how full inboxes are.
func (b *snapshotBatch) readInboxes(snap *snapshot, of *mailDependencies) {
	var (
		id, origin []byte
		position   int64
		size       int64
		total      tally
	)
	b.each(`SELECT id, position, origin, bytes FROM unnest($1::int2[], $2::bytea[], $3::int8[]) AS w (shard, id, position) JOIN `+b.sql.inbox+` i USING (shard, id, position)`,
		[]any{of.takes.shards, of.takes.ids, of.takes.positions}, []any{&id, &position, &origin, &size},
		func() {
			snap.mail.messages[entryKey{journal.ID(id), uint64(position)}] = message{journal.Origin(origin), size}
		})
	b.each(`SELECT id, held.* FROM unnest($1::int2[], $2::bytea[]) AS w (shard, id) CROSS JOIN LATERAL (
			SELECT count(*), coalesce(sum(n.bytes), 0)::int8
			FROM (SELECT i.bytes FROM `+b.sql.inbox+` i WHERE i.shard = w.shard AND i.id = w.id LIMIT $3) AS n) AS held`,
		[]any{of.receivers.shards, of.receivers.ids, journal.MaxSentInbox + 1 + of.takes.len()}, []any{&id, &total.messages, &total.bytes},
		func() { snap.mail.tallies[journal.ID(id)] = total })
}
