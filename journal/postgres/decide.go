package postgres

import (
	"cmp"
	"context"
	"maps"

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

// entryKey names an entry of an execution.
type entryKey struct {
	id  journal.ID
	seq uint64
}

// commitDecided reads what the writes depend on, decides about each, and commits
// those that take effect. Another commit may come between the reading and the
// writing; then a premise fails, and the caller tries again.
func (s *Store) commitDecided(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) ([]journal.Result, error) {
	snap, err := s.readSnapshot(ctx, conn, writes)
	if err != nil {
		s.rollback(ctx, conn.Conn())
		return nil, beforeCommit("postgres: commit", silent(ctx, err))
	}
	outcomes := make([]journal.Result, len(writes))
	var effective []*journal.Write
	for i, write := range writes {
		if outcomes[i] = snap.decide(write); outcomes[i] == (journal.Result{}) {
			effective = append(effective, snap.apply(write))
		}
	}
	if len(effective) == 0 {
		s.rollback(ctx, conn.Conn())
		return outcomes, nil
	}
	b := &pgx.Batch{}
	found := newAnswers()
	for _, part := range parts(effective) {
		p := newPlan(part, decided)
		if !part[0].Replace.IsZero() { // it is alone
			p.aside = snap.replaced[part[0].Run]
		}
		p.queue(b, found)
	}
	if err := s.sendWithCommit(ctx, conn.Conn(), b); err != nil {
		return nil, err
	}
	for i, write := range writes {
		if write.Receive != nil && outcomes[i] == (journal.Result{}) {
			outcomes[i].Position = found.mailed[mailKey{write.ID, write.Receive.Origin}]
		}
	}
	return outcomes, nil
}

// readSnapshot opens the transaction, locks the fences and reads what the writes
// depend on.
func (s *Store) readSnapshot(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) (*snapshot, error) {
	snap := newSnapshot()
	var all keys
	var entries entryRows
	var settles settleRows
	var links linkRows
	var mail mailDependencies
	for _, write := range writes {
		mail.add(write)
		all.add(write.ID)
		for i := range write.Entries {
			entries.keys.add(write.ID)
			entries.seqs = append(entries.seqs, int64(write.Entries[i].Seq))
		}
		if write.Settle != nil {
			settles.keys.add(write.ID)
			settles.names = append(settles.names, write.Settle.Name)
		}
		if write.Link != nil {
			links.add(write.ID, write.Link)
			all.add(write.Link.Callee)
		}
	}
	b := &pgx.Batch{}
	b.Queue(stmtBegin)
	b.Queue(stmtLock)
	var (
		shard      int16
		epoch, seq int64
		token      []byte
		id, other  []byte // other: a run, a step, an origin
		chain      []byte
		name       string
		over       bool
		total      tally
	)
	each := func(query string, args, into []any, note func()) {
		b.Queue(query, args...).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, into, func() error { note(); return nil })
			return err
		})
	}
	each(`SELECT shard, epoch, token FROM `+s.sql.shards+` WHERE shard = ANY($1)`, []any{all.shards}, []any{&shard, &epoch, &token},
		func() { snap.fences[journal.Shard(shard)] = fenceOf(epoch, token) })
	each(`SELECT id, run, coalesce(e.chain, e.run), e.state IN `+final+` FROM unnest($1::int2[], $2::bytea[]) AS w (shard, id) JOIN `+s.sql.executions+` e USING (shard, id)`,
		[]any{all.shards, all.ids}, []any{&id, &other, &chain, &over},
		func() {
			snap.executions[journal.ID(id)], snap.chains[journal.ID(id)] = journal.RunID(other), journal.RunID(chain)
			snap.over[journal.ID(id)] = over
		})
	each(`SELECT id, step FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, step) JOIN `+s.sql.links+` l USING (shard, id, step)`,
		[]any{links.shards, links.ids, links.steps}, []any{&id, &other},
		func() { snap.linked[linkKey{journal.ID(id), journal.StepID(other)}] = true })
	each(`SELECT id, seq FROM unnest($1::int2[], $2::bytea[], $3::int8[]) AS w (shard, id, seq) JOIN `+s.sql.entries+` e USING (shard, id, seq)`,
		[]any{entries.shards, entries.ids, entries.seqs}, []any{&id, &seq},
		func() { snap.entries[entryKey{journal.ID(id), uint64(seq)}] = true })
	each(`SELECT id, name FROM unnest($1::int2[], $2::bytea[], $3::text[]) AS w (shard, id, name) JOIN `+s.sql.deferreds+` d USING (shard, id, name)`,
		[]any{settles.shards, settles.ids, settles.names}, []any{&id, &name},
		func() { snap.settled[settlement{journal.ID(id), name}] = true })
	each(`SELECT id, origin FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, origin) JOIN `+s.sql.inbox+` i USING (shard, id, origin)`,
		[]any{mail.mailed.shards, mail.mailed.ids, mail.mailed.origins}, []any{&id, &other},
		func() { snap.mail.mailed[mailKey{journal.ID(id), journal.Origin(other)}] = true })
	each(`SELECT id, origin FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS w (shard, id, origin) JOIN `+s.sql.receipts+` r USING (shard, id, origin)`,
		[]any{mail.answered.shards, mail.answered.ids, mail.answered.origins}, []any{&id, &other},
		func() { snap.mail.answered[mailKey{journal.ID(id), journal.Origin(other)}] = true })
	each(`SELECT id, position, origin, bytes FROM unnest($1::int2[], $2::bytea[], $3::int8[]) AS w (shard, id, position) JOIN `+s.sql.inbox+` i USING (shard, id, position)`,
		[]any{mail.takes.shards, mail.takes.ids, mail.takes.positions}, []any{&id, &seq, &other, &total.bytes},
		func() {
			snap.mail.messages[entryKey{journal.ID(id), uint64(seq)}] = message{journal.Origin(other), total.bytes}
		})
	each(`SELECT id, held.* FROM unnest($1::int2[], $2::bytea[]) AS w (shard, id) CROSS JOIN LATERAL (
			SELECT count(*), coalesce(sum(n.bytes), 0)::int8
			FROM (SELECT i.bytes FROM `+s.sql.inbox+` i WHERE i.shard = w.shard AND i.id = w.id LIMIT $3) AS n) AS held`,
		[]any{mail.receivers.shards, mail.receivers.ids, journal.MaxSentInbox + 1 + mail.takes.len()}, []any{&id, &total.messages, &total.bytes},
		func() { snap.mail.tallies[journal.ID(id)] = total })
	return snap, conn.SendBatch(ctx, b).Close()
}

// decide tells what becomes of a write: the zero Result says that it takes effect.
func (snap *snapshot) decide(write *journal.Write) journal.Result {
	if snap.fences[write.ID.Shard()] != write.Fence {
		return journal.Result{Err: journal.ErrFenced}
	}
	if write.OfEntity() {
		return snap.mail.decide(write)
	}
	if run, exists := snap.executions[write.ID]; exists && write.Start != nil && !(run == write.Replace && snap.over[write.ID]) {
		return journal.Result{Existed: true}
	} else if write.Start == nil && (!exists || run != write.Run) {
		return journal.Result{Err: journal.ErrNotFound}
	}
	if write.Link != nil && snap.linked[linkKey{write.ID, write.Link.Step}] {
		return journal.Result{Existed: true}
	}
	if write.Link != nil && snap.chains[write.Link.Callee] != write.Link.Chain {
		return journal.Result{Err: journal.ErrSwept}
	}
	if write.Settle != nil && snap.settled[settlement{write.ID, write.Settle.Name}] {
		return journal.Result{Existed: true}
	}
	if result := snap.mail.decide(write); result != (journal.Result{}) {
		return result
	}
	own := map[uint64]bool{}
	for i := range write.Entries {
		seq := write.Entries[i].Seq
		if own[seq] || snap.entries[entryKey{write.ID, seq}] {
			return journal.Result{Err: errTaken(write.ID, seq)}
		}
		own[seq] = true
	}
	return journal.Result{}
}

// apply notes the effects of a write that takes effect, and leaves of it what is to be
// written.
func (snap *snapshot) apply(write *journal.Write) *journal.Write {
	if _, exists := snap.executions[write.ID]; exists && write.Start != nil {
		snap.setAside(write)
	}
	if !write.OfEntity() {
		snap.executions[write.ID] = write.Run
	}
	if write.Start != nil {
		snap.over[write.ID] = write.Start.State.Final()
	}
	if write.Update != nil {
		snap.over[write.ID] = write.Update.State.Final()
	}
	if s := write.Start; s != nil {
		snap.chains[write.ID] = cmp.Or(s.Chain, s.Run)
	}
	if write.Link != nil {
		snap.linked[linkKey{write.ID, write.Link.Step}] = true
	}
	for i := range write.Deferreds {
		snap.settled[settlement{write.ID, write.Deferreds[i].Name}] = true
	}
	for i := range write.Entries {
		snap.entries[entryKey{write.ID, write.Entries[i].Seq}] = true
	}
	if write.Settle != nil {
		snap.settled[settlement{write.ID, write.Settle.Name}] = true
	}
	if write.Continue != nil {
		snap.continueAs(write.ID, write.Continue.Run)
	}
	return snap.mail.apply(write)
}

// continueAs notes that another run has taken the place of the one there was.
func (snap *snapshot) continueAs(id journal.ID, next journal.RunID) {
	snap.executions[id], snap.over[id] = next, false
	snap.forget(id)
}

// forget forgets what is recorded of a run.
func (snap *snapshot) forget(id journal.ID) {
	maps.DeleteFunc(snap.entries, func(k entryKey, _ bool) bool { return k.id == id })
	maps.DeleteFunc(snap.settled, func(k settlement, _ bool) bool { return k.id == id })
	maps.DeleteFunc(snap.linked, func(k linkKey, _ bool) bool { return k.id == id })
}
