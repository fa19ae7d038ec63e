package postgres

import (
	"bytes"
	"fmt"
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
	entries                 entryRows
	updates                 []update
	interrupts              []interrupt
	hibernated              map[journal.ID]*journal.Hibernated

	// Executions that must exist: present is merely looked at, held is locked
	// against a sweep that deletes it at this moment, as the callees of links are. Rows
	// that are updated need neither.
	present, held runKeys
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
// two settlements of one deferred, two links of one step, two runs of one
// execution, or two fences of one shard would.
func independent(writes []*journal.Write) bool {
	fences := map[journal.Shard]journal.Fence{}
	starts := map[journal.ID]bool{} // → whether a write of it is a start
	runs := map[journal.ID]journal.RunID{}
	settled := map[settlement]bool{}
	linked := map[linkKey]bool{}
	for _, w := range writes {
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
// other instead of deadlocking; writes of one execution keep their order.
func newPlan(writes []*journal.Write, known premise) *plan {
	writes = slices.Clone(writes)
	slices.SortStableFunc(writes, func(a, b *journal.Write) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	p := &plan{fences: map[journal.Shard]journal.Fence{}, hibernated: map[journal.ID]*journal.Hibernated{}}
	updated := map[journal.ID]int{}
	interrupted := map[journal.ID]bool{}
	started := map[journal.ID]bool{}
	needed := map[journal.ID]bool{} // → whether it must be held
	runs := map[journal.ID]journal.RunID{}
	for _, w := range writes {
		runs[w.ID] = w.Run
		p.fences[w.ID.Shard()] = w.Fence
		lenient := known == optimistic && bare(w)
		if w.Start != nil {
			started[w.ID] = true
			if lenient {
				p.lenientStarts.add(w.Start)
			} else {
				p.starts.add(w.Start)
			}
		} else if !started[w.ID] {
			needed[w.ID] = needed[w.ID] || w.Settle != nil || w.Link != nil || w.Hibernate != nil
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
	for id, held := range needed {
		_, changed := updated[id]
		switch {
		case known != guest && (changed || interrupted[id]):
		case held && known != guest:
			p.held.add(id, runs[id])
		default:
			p.present.add(id, runs[id])
		}
	}
	return p
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
	if len(p.updates) > 0 && len(p.interrupts) > 0 {
		p.queueRowLocks(b)
	}
	if len(p.updates) > 0 {
		queueUpdates(b, p.updates)
	}
	if len(p.interrupts) > 0 {
		queueInterrupts(b, p.interrupts)
	}
	if len(p.hibernated) > 0 {
		queueHibernated(b, p.hibernated)
	}
	p.queueLinks(b, a)
	if p.settles.len() > 0 {
		p.settles.queue(b, stmtSettles)
	}
	if p.lenientSettles.len() > 0 {
		p.lenientSettles.queue(b, stmtSettlesLenient).Query(func(rows pgx.Rows) error {
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

// queueRowLocks appends a statement that locks the rows which two statements are
// going to change, in one order. Each statement locks in order, but the two
// together would not.
func (p *plan) queueRowLocks(b *pgx.Batch) {
	runs := map[journal.ID]journal.RunID{}
	for _, u := range p.updates {
		runs[u.id] = u.run
	}
	for _, i := range p.interrupts {
		runs[i.id] = i.run
	}
	var rows runKeys
	for _, id := range slices.SortedFunc(maps.Keys(runs), func(a, b journal.ID) int { return bytes.Compare(a[:], b[:]) }) {
		rows.add(id, runs[id])
	}
	b.Queue(stmtLockRows, rows.shards, rows.ids, rows.runs, rows.len())
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
