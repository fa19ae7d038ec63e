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

// settlement names a deferred of an execution.
type settlement struct {
	id   journal.ID
	name string
}

// linkKey names the link of a step.
type linkKey struct {
	id   journal.ID
	step journal.StepID
}

// plan is what a batch of writes does to the tables. It is made on the premise
// that every write takes effect; its statements stop the transaction if that
// turns out wrong.
type plan struct {
	fences map[journal.Shard]journal.Fence

	// A start, settlement or link that is all its write asks for may find its row there
	// already without an effect on other writes: the lenient rows.
	starts, lenientStarts   startRows
	settles, lenientSettles settleRows
	links, lenientLinks     linkRows
	mail                    mail
	entries                 entryRows
	updates                 []update
	interrupts              []interrupt
	hibernated              map[journal.ID]*journal.Hibernated
	entities                map[journal.ID]*journal.Entity // nil: destroyed

	// Executions that are loaded if they run. Of those that hang on a lenient row the
	// statement of that row wakes those whose row is new.
	wakes, lenientWakes map[journal.ID]bool

	// Executions that must exist: present is merely looked at, held is locked
	// against a sweep that deletes it at this moment, as the callees of links are. Rows
	// that are updated need neither.
	present, held runKeys
	// locked are the executions that several statements change.
	locked runKeys

	known premise
	runs  map[journal.ID]journal.RunID
}

// premise says how much is known of the writes a plan is made of.
type premise int

const (
	// optimistic: nothing was looked up; most likely all of them take effect.
	optimistic premise = iota
	// decided: they were found to take effect, in this order; they may build on
	// each other.
	decided
	// guest: one write at the end of a guest's transaction, whose snapshot is
	// old: locking a row that changed since would fail for no good reason.
	guest
)

// independent tells whether writes can be tried together: none decides about
// another, as two starts of one execution, a start and what follows it,
// two settlements of one deferred, two links of one step, two messages of one origin, two
// runs of one execution, or two fences of one shard would.
func independent(writes []*journal.Write) bool {
	fences := map[journal.Shard]journal.Fence{}
	starts := map[journal.ID]bool{} // → whether a write of it is a start
	runs := map[journal.ID]journal.RunID{}
	settled := map[settlement]bool{}
	linked := map[linkKey]bool{}
	var mailed mailOrder
	for _, w := range writes {
		if !mailed.follows(w) {
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
		if run, seen := runs[w.ID]; seen && run != w.Run {
			return false
		}
		runs[w.ID] = w.Run
		if w.Link != nil {
			key := linkKey{w.ID, w.Link.Step}
			if linked[key] {
				return false
			}
			linked[key] = true
		}
		if w.Settle != nil {
			key := settlement{w.ID, w.Settle.Name}
			if settled[key] {
				return false
			}
			settled[key] = true
		}
	}
	return true
}

// newPlan makes the plan of writes that are independent or decided. Rows go in
// the order of their ids, so that batches that touch the same ones wait for each
// other instead of deadlocking; writes of one execution keep their order, and so do
// messages to one receiver.
func newPlan(writes []*journal.Write, known premise) *plan {
	p := &plan{
		fences:     map[journal.Shard]journal.Fence{},
		hibernated: map[journal.ID]*journal.Hibernated{}, entities: map[journal.ID]*journal.Entity{},
		wakes: map[journal.ID]bool{}, lenientWakes: map[journal.ID]bool{},
		known: known, runs: map[journal.ID]journal.RunID{},
	}
	p.mail.room = map[journal.ID]tally{}
	for _, w := range writes {
		p.mail.add(w, known)
	}
	writes = slices.Clone(writes)
	slices.SortStableFunc(writes, func(a, b *journal.Write) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	updated := map[journal.ID]int{}
	interrupted := map[journal.ID]bool{}
	started := map[journal.ID]bool{}
	needed := map[journal.ID]bool{} // → whether it must be held
	for _, w := range writes {
		p.fences[w.ID.Shard()] = w.Fence
		if w.OfEntity() {
			if w.Entity != nil || w.Destroy {
				p.entities[w.ID] = w.Entity // the last one stands
			}
			continue
		}
		p.runs[w.ID] = w.Run
		lenient := known == optimistic && bare(w)
		if w.Start != nil {
			started[w.ID] = true
			if lenient {
				p.lenientStarts.add(w.Start)
			} else {
				p.starts.add(w.Start)
			}
		} else if !started[w.ID] {
			needed[w.ID] = needed[w.ID] || w.Settle != nil || w.Link != nil || w.Hibernate != nil || w.Receive != nil || len(w.Receipts) > 0
		}
		for i := range w.Deferreds {
			p.settles.add(w.ID, &w.Deferreds[i])
		}
		for i := range w.Entries {
			p.entries.add(w.ID, &w.Entries[i])
		}
		if w.Update != nil {
			if i, ok := updated[w.ID]; ok {
				p.updates[i].Update = followed(p.updates[i].Update, w.Update)
			} else {
				updated[w.ID] = len(p.updates)
				p.updates = append(p.updates, update{w.ID, w.Run, w.Update})
			}
		}
		p.noteWake(w, lenient)
		if w.Interrupt != nil && !interrupted[w.ID] { // the first one stands
			interrupted[w.ID] = true
			p.interrupts = append(p.interrupts, interrupt{w.ID, w.Run, w.Interrupt})
		}
		if w.Hibernate != nil {
			p.hibernated[w.ID] = w.Hibernate // the last one stands
		}
		if w.Update != nil && w.Update.State.Final() {
			p.hibernated[w.ID] = &journal.Hibernated{}
		}
		if w.Settle != nil && lenient {
			p.lenientSettles.add(w.ID, w.Settle)
		} else if w.Settle != nil {
			p.settles.add(w.ID, w.Settle)
		}
		if w.Link != nil && lenient {
			p.lenientLinks.add(w.ID, w.Link)
		} else if w.Link != nil {
			p.links.add(w.ID, w.Link)
		}
		if w.Link != nil {
			p.held.add(w.Link.Callee, w.Link.Run)
		}
	}
	for i, u := range p.updates {
		if p.wakes[u.id] && u.State == journal.Running {
			awake := *u.Update
			awake.WakeAt = journal.Now
			p.updates[i].Update = &awake
		}
		delete(p.wakes, u.id)
	}
	locked := p.lockRows()
	for id, held := range needed {
		_, changed := updated[id]
		switch {
		case known != guest && (changed || interrupted[id] || locked[id]):
		case held && known != guest:
			p.held.add(id, p.runs[id])
		default:
			p.present.add(id, p.runs[id])
		}
	}
	return p
}

// noteWake notes whether the execution is to be loaded. An update that comes behind sets
// another wake time.
func (p *plan) noteWake(w *journal.Write, lenient bool) {
	if w.Update != nil {
		delete(p.wakes, w.ID)
		delete(p.lenientWakes, w.ID)
	}
	switch {
	case w.Wakes() && lenient && w.Interrupt == nil:
		p.lenientWakes[w.ID] = true
	case w.Wakes():
		p.wakes[w.ID] = true
	}
}

// followed is what two updates of one execution come to: the last one stands, but for
// what it leaves as it is.
func followed(first, last *journal.Update) *journal.Update {
	both := *last
	if both.Digest == "" {
		both.Digest = first.Digest
	}
	both.MovedAt = max(both.MovedAt, first.MovedAt)
	return &both
}

// bare tells whether a write asks for one thing only.
func bare(w *journal.Write) bool {
	parts := 0
	for _, there := range []bool{
		w.Start != nil, len(w.Deferreds) > 0, len(w.Entries) > 0, w.Update != nil, w.Settle != nil, w.Interrupt != nil, w.Link != nil, w.Hibernate != nil,
		w.Receive != nil, len(w.Take) > 0, len(w.Receipts) > 0, len(w.Send) > 0, w.Entity != nil, w.Destroy,
	} {
		if there {
			parts++
		}
	}
	return parts == 1
}

// answers collects what lenient statements found.
type answers struct {
	started map[journal.ID]bool
	settled map[settlement]bool
	linked  map[linkKey]bool
	mailed  map[mailKey]uint64 // → position
}

func newAnswers() *answers {
	return &answers{started: map[journal.ID]bool{}, settled: map[settlement]bool{}, linked: map[linkKey]bool{}, mailed: map[mailKey]uint64{}}
}

// put notes the positions of messages that were put into inboxes.
func (a *answers) put(rows pgx.Rows) error {
	var id, origin []byte
	var position int64
	_, err := pgx.ForEachRow(rows, []any{&id, &origin, &position}, func() error {
		a.mailed[mailKey{journal.ID(id), journal.Origin(origin)}] = uint64(position)
		return nil
	})
	return err
}

// queue appends the statements of the plan to b, without fence and COMMIT.
func (p *plan) queue(b *pgx.Batch, a *answers) {
	if p.starts.len() > 0 {
		p.starts.queue(b, stmtStarts)
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
	}
	if p.present.len() > 0 {
		b.Queue(stmtPresent, p.present.shards, p.present.ids, p.present.runs, p.present.len())
	}
	if p.held.len() > 0 {
		b.Queue(stmtHeld, p.held.shards, p.held.ids, p.held.runs, p.held.len())
	}
	if p.entries.len() > 0 {
		b.Queue(stmtEntries, p.entries.shards, p.entries.ids, p.entries.seqs, p.entries.entries)
	}
	if p.locked.len() > 0 {
		b.Queue(stmtLockRows, p.locked.shards, p.locked.ids, p.locked.runs, p.locked.len())
	}
	if len(p.updates) > 0 {
		queueUpdates(b, p.updates)
	}
	if len(p.interrupts) > 0 {
		queueInterrupts(b, p.interrupts, p.wakes)
	}
	p.queueWakes(b)
	queueEntities(b, p.entities)
	p.mail.queue(b, p.toWake(), p.known, a)
	if len(p.hibernated) > 0 {
		queueHibernated(b, p.hibernated)
	}
	p.queueLinks(b, a)
	if p.settles.len() > 0 {
		p.settles.queue(b, stmtSettles)
	}
	if p.lenientSettles.len() > 0 {
		p.lenientSettles.queue(b, stmtSettlesLenient, p.toWake()).Query(func(rows pgx.Rows) error {
			var id []byte
			var name string
			_, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error {
				a.settled[settlement{journal.ID(id), name}] = true
				return nil
			})
			return err
		})
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
		var id, step []byte
		_, err := pgx.ForEachRow(rows, []any{&id, &step}, func() error {
			a.linked[linkKey{journal.ID(id), journal.StepID(step)}] = true
			return nil
		})
		return err
	})
}

// lockRows finds the rows that several statements are going to change: they are locked
// before, in one order. Each statement locks in order, but together they would not.
func (p *plan) lockRows() map[journal.ID]bool {
	var updated, interrupted, settled, mailed []journal.ID
	for _, u := range p.updates {
		updated = append(updated, u.id)
	}
	for _, i := range p.interrupts {
		interrupted = append(interrupted, i.id)
	}
	for _, id := range p.lenientSettles.ids {
		settled = append(settled, journal.ID(id))
	}
	for _, m := range p.mail.lenient {
		if p.lenientWakes[m.to] {
			mailed = append(mailed, m.to)
		}
	}
	statements, changed := 0, map[journal.ID]bool{}
	for _, ids := range [][]journal.ID{updated, interrupted, settled, mailed, slices.Collect(maps.Keys(p.wakes))} {
		if len(ids) > 0 {
			statements++
		}
		for _, id := range ids {
			changed[id] = true
		}
	}
	if statements < 2 {
		return nil
	}
	for _, id := range sortedIDs(maps.Keys(changed)) {
		p.locked.add(id, p.runs[id])
	}
	return changed
}

// queueWakes appends a statement that has executions loaded which no other statement
// changes.
func (p *plan) queueWakes(b *pgx.Batch) {
	wakes := maps.Clone(p.wakes)
	for _, i := range p.interrupts {
		delete(wakes, i.id)
	}
	if len(wakes) == 0 {
		return
	}
	var k keys
	for _, id := range sortedIDs(maps.Keys(wakes)) {
		k.add(id)
	}
	b.Queue(stmtWakes, k.shards, k.ids)
}

// toWake are the executions that are loaded if a lenient row of theirs is new.
func (p *plan) toWake() [][]byte {
	ids := make([][]byte, 0, len(p.lenientWakes))
	for id := range p.lenientWakes {
		ids = append(ids, id[:])
	}
	return ids
}

func sortedIDs(ids iter.Seq[journal.ID]) []journal.ID {
	return slices.SortedFunc(ids, func(a, b journal.ID) int { return bytes.Compare(a[:], b[:]) })
}

// queueFence appends the check that the shards are still ours.
func (p *plan) queueFence(b *pgx.Batch) {
	var rows fenceRows
	for shard, fence := range p.fences {
		rows.add(shard, fence)
	}
	rows.queue(b)
}

// check finds writes that no table could take, so that they do not spoil the
// batch: Postgres keeps no zero bytes and nothing but UTF-8 in its texts.
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
	if w.Settle != nil {
		texts = append(texts, w.Settle.Name)
	}
	for i := range w.Deferreds {
		texts = append(texts, w.Deferreds[i].Name)
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
	for _, text := range texts {
		if !isText(text) {
			return abi.Errorf(abi.CodeBadRequest, "a name of execution %s is not text: %q", w.ID, text)
		}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func errTaken(id journal.ID, seq uint64) error {
	return fmt.Errorf("postgres: execution %s has an entry %d already", id, seq)
}
