package postgres

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// linkKey names the link of a step.
type linkKey struct {
	run  journal.RunID
	step journal.StepID
}

// plan is the effect of a batch of writes on the tables. It is made on the premise that every write
// takes effect; its statements stop the transaction if that turns out wrong.
type plan struct {
	// A start or link that is all its write asks for may find its row there already without an effect on other writes:
	// the lenient rows.
	starts, lenientStarts startRows
	links, lenientLinks   linkRows
	mail                  mail
	entries               entryRows
	updates               []update
	hibernated            map[journal.ID]*journal.Hibernated
	entities              map[journal.ID]*journal.Entity // nil: destroyed
	entityLocks           map[journal.ID]*journal.Lock   // nil: deleted
	published             map[journal.ID]*journal.Published
	continues             []continuation
	superseded            runKeys // runs whose place others take

	// arrivals counts the messages that executions receive; the statement of a lenient row counts it itself, if it is
	// new.
	arrivals map[journal.ID]int64
	lenient  map[journal.ID]bool

	known        premise
	runs, chains map[journal.ID]journal.RunID
}

// premise says how much is known of the writes a plan is made of.
type premise int

const (
	// optimistic: nothing was looked up; most likely all of them take effect.
	optimistic premise = iota
	// decided: they were found to take effect, in this order; they may build on each other.
	decided
	// guest: one write at the end of a guest's transaction, whose snapshot is old: locking a row for more than that its
	// run goes on would fail for no good reason.
	guest
)

// independent tells whether writes can be tried together: none decides about another, as two starts
// of one execution, a start and its successors, two links of one step, two messages of one origin,
// two runs of one execution, a run that continues or ends and its other writes, entries of one
// number, or two fences of one shard would. A run that takes the place of another is not tried.
func independent(writes []*journal.Write) bool {
	fences := map[journal.Shard]journal.Fence{}
	starts := map[journal.ID]bool{} // → whether a write of it is a start
	runs := map[journal.ID]journal.RunID{}
	continued, over := map[journal.ID]bool{}, map[journal.ID]bool{}
	var numbered entryOrder
	linked := map[linkKey]bool{}
	var mailed mailOrder
	for _, w := range writes {
		if !w.Replace.IsZero() || !mailed.follows(w) {
			return false
		}
		if fence, ok := fences[w.ID.Shard()]; ok && fence != w.Fence {
			return false
		}
		fences[w.ID.Shard()] = w.Fence
		if started, seen := starts[w.ID]; seen && (started || w.Start != nil) {
			return false
		}
		starts[w.ID] = w.Start != nil
		if run, seen := runs[w.ID]; seen && (run != w.Run || w.Continue != nil || continued[w.ID]) {
			return false
		}
		if over[w.ID] && (len(w.Entries) > 0 || w.Receive != nil) || !numbered.follows(w) {
			return false
		}
		if w.Update != nil {
			over[w.ID] = w.Update.State.Final()
		}
		if w.Continue != nil {
			continued[w.ID] = true
		}
		runs[w.ID] = w.Run
		if w.Link != nil {
			key := linkKey{w.Run, w.Link.Step}
			if linked[key] {
				return false
			}
			linked[key] = true
		}
	}
	return true
}

// entryOrder looks for writes of one batch that have entries of the same number.
type entryOrder struct {
	first map[journal.RunID]*journal.Write
	seqs  map[entryKey]bool // of runs with several writes
}

// follows tells whether a write has no number that one before it has.
func (o *entryOrder) follows(w *journal.Write) bool {
	if len(w.Entries) == 0 {
		return true
	}
	if o.first == nil {
		o.first, o.seqs = map[journal.RunID]*journal.Write{}, map[entryKey]bool{}
	}
	before, seen := o.first[w.Run]
	if !seen {
		o.first[w.Run] = w
		return distinct(w.Entries)
	}
	for i := range before.Entries {
		o.seqs[entryKey{w.Run, before.Entries[i].Seq}] = true
	}
	for i := range w.Entries {
		key := entryKey{w.Run, w.Entries[i].Seq}
		if o.seqs[key] {
			return false
		}
		o.seqs[key] = true
	}
	return true
}

// distinct tells whether no two entries have the same number.
func distinct(entries []journal.Entry) bool {
	for i := 1; i < len(entries); i++ {
		if entries[i].Seq <= entries[i-1].Seq { // as a rule they ascend
			seen := map[uint64]bool{}
			for j := range entries {
				if seen[entries[j].Seq] {
					return false
				}
				seen[entries[j].Seq] = true
			}
			return true
		}
	}
	return true
}

// bare tells whether a write asks for one thing only.
func bare(w *journal.Write) bool {
	parts := 0
	for _, there := range []bool{
		w.Start != nil, len(w.Entries) > 0, w.Update != nil, w.Link != nil, w.Hibernate != nil,
		w.Receive != nil, len(w.Take) > 0, len(w.Receipts) > 0, len(w.Send) > 0, w.Entity != nil, w.Destroy,
		len(w.Hold) > 0, w.Publish != nil, w.Continue != nil, w.Lock != nil, w.Unlock,
		len(w.Park) > 0, len(w.Unpark) > 0,
	} {
		if there {
			parts++
		}
	}
	return parts == 1
}

// answers collects the findings of lenient statements.
type answers struct {
	started map[journal.ID]bool
	linked  map[linkKey]bool
	mailed  map[mailKey]uint64 // → position
}

func newAnswers() *answers {
	return &answers{started: map[journal.ID]bool{}, linked: map[linkKey]bool{}, mailed: map[mailKey]uint64{}}
}

// put notes the positions of messages that were put into inboxes.
func (a *answers) put(rows pgx.Rows) error {
	var id, chain, origin []byte
	var position int64
	_, err := pgx.ForEachRow(rows, []any{&id, &chain, &origin, &position}, func() error {
		a.mailed[mailKey{receiverOf(id, chain), journal.Origin(origin)}] = uint64(position)
		return nil
	})
	return err
}

// queueWrites appends the statements of a transaction, without fence and COMMIT.
func queueWrites(b *pgx.Batch, writes []*journal.Write, known premise, a *answers) {
	rowLocksOf(writes, known).queue(b)
	plans := [][]*journal.Write{writes}
	if known == decided {
		plans = parts(writes)
	}
	for _, part := range plans {
		newPlan(part, known).queue(b, a)
	}
}

// queue appends the statements of the plan to b.
func (p *plan) queue(b *pgx.Batch, a *answers) {
	if p.superseded.len() > 0 {
		b.Queue(stmtSupersede, p.superseded.shards, p.superseded.ids, p.superseded.runs, p.superseded.len())
	}
	p.queueStarts(b, a)
	p.queueRuns(b)
	p.queueArrivals(b)
	queueEntities(b, p.entities)
	queueLocks(b, p.entityLocks)
	p.mail.queue(b, p.counted(), p.known, a)
	if len(p.hibernated) > 0 {
		p.queueHibernated(b)
	}
	if len(p.published) > 0 {
		p.queuePublished(b)
	}
	p.queueLinks(b, a)
	if len(p.continues) > 0 {
		queueContinues(b, p.continues)
	}
}

func (p *plan) queueStarts(b *pgx.Batch, a *answers) {
	if p.starts.len() > 0 {
		p.starts.queue(b, stmtStarts)
		p.starts.queueFresh(b)
	}
	if p.lenientStarts.len() > 0 {
		p.lenientStarts.queue(b, stmtStartsLenient).Query(func(rows pgx.Rows) error {
			var id []byte
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				a.started[journal.ID(id)] = true
				return nil
			})
			return err
		})
		p.lenientStarts.queueFresh(b)
	}
}

// queueRuns writes the entries and rows of runs.
func (p *plan) queueRuns(b *pgx.Batch) {
	if p.entries.len() > 0 {
		b.Queue(
			stmtEntries, p.entries.shards, p.entries.ids, p.entries.seqs, p.entries.lasts, p.entries.bodies,
			p.entries.len(),
		)
	}
	if len(p.updates) > 0 {
		queueUpdates(b, p.updates)
	}
}

func (p *plan) queueLinks(b *pgx.Batch, a *answers) {
	if p.links.len() > 0 {
		p.links.queue(b, stmtLinks)
	}
	if p.lenientLinks.len() == 0 {
		return
	}
	p.lenientLinks.queue(b, stmtLinksLenient).Query(func(rows pgx.Rows) error {
		var run, step []byte
		_, err := pgx.ForEachRow(rows, []any{&run, &step}, func() error {
			a.linked[linkKey{journal.RunID(run), journal.StepID(step)}] = true
			return nil
		})
		return err
	})
}

// queueArrivals appends a statement that counts messages that are certainly put.
func (p *plan) queueArrivals(b *pgx.Batch) {
	if len(p.arrivals) == 0 {
		return
	}
	var k keys
	var messages []int64
	for _, id := range sortedIDs(maps.Keys(p.arrivals)) {
		k.add(id)
		messages = append(messages, p.arrivals[id])
	}
	b.Queue(stmtArrivals, k.shards, k.ids, messages)
}

// counted are the executions that count lenient rows of theirs.
func (p *plan) counted() [][]byte {
	ids := make([][]byte, 0, len(p.lenient))
	for id := range p.lenient {
		ids = append(ids, id[:])
	}
	return ids
}

func sortedIDs(ids iter.Seq[journal.ID]) []journal.ID {
	return slices.SortedFunc(ids, func(a, b journal.ID) int { return bytes.Compare(a[:], b[:]) })
}

// queueFence appends the check that the shards of writes are still ours.
func queueFence(b *pgx.Batch, writes []*journal.Write) {
	fences := map[journal.Shard]journal.Fence{}
	for _, w := range writes {
		fences[w.ID.Shard()] = w.Fence
	}
	var rows fenceRows
	for shard, fence := range fences {
		rows.add(shard, fence)
	}
	rows.queue(b)
}

// check finds writes that no table could take, so that they do not spoil the batch: Postgres keeps no zero bytes and
// nothing but UTF-8 in its texts.
func check(w *journal.Write) error {
	if err := w.Check(); err != nil {
		return err
	}
	var texts []string
	if w.Start != nil {
		texts = append(texts, w.Start.Namespace, w.Start.Workflow, w.Start.Key, w.Start.Digest, string(w.Start.State))
	}
	if w.Update != nil {
		texts = append(texts, string(w.Update.State), w.Update.Digest)
	}
	if w.Receive != nil {
		texts = append(texts, string(w.Receive.Kind), w.Receive.Name)
	}
	for i := range w.Send {
		texts = append(texts, string(w.Send[i].Kind), w.Send[i].Name)
	}
	if w.Entity != nil {
		texts = append(texts, w.Entity.Namespace, w.Entity.Type, w.Entity.Key)
	}
	if w.Lock != nil {
		texts = append(texts, w.Lock.Namespace, w.Lock.Type, w.Lock.Key)
	}
	for i := range w.Park {
		texts = append(texts, w.Park[i].Namespace, w.Park[i].Type, w.Park[i].Key)
	}
	if w.Continue != nil {
		texts = append(texts, w.Continue.Digest)
	}
	for _, text := range texts {
		if !isText(text) {
			return abi.Errorf(abi.CodeBadRequest, "a name of execution %s is not text: %q", w.ID, text)
		}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func errEntryTaken(id journal.ID, seq uint64) error {
	return fmt.Errorf("postgres: execution %s has an entry %d already", id, seq)
}
