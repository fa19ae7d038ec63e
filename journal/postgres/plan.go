package postgres

import (
	"bytes"
	"fmt"
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

// plan is what a batch of writes does to the tables. It is made on the premise
// that every write takes effect; its statements stop the transaction if that
// turns out wrong.
type plan struct {
	fences map[journal.Shard]journal.Epoch

	// A start or settlement that is all its write asks for may find its row there
	// already without an effect on other writes: the lenient rows.
	starts, lenientStarts   startRows
	settles, lenientSettles settleRows
	entries                 entryRows
	updates                 []update
	interrupts              []interrupt

	// Executions that must exist: present is merely looked at, held is locked
	// against a sweep that deletes it at this moment. Rows that are updated need
	// neither.
	present, held keys
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
// two settlements of one deferred, or two epochs of one shard would.
func independent(writes []*journal.Write) bool {
	epochs := map[journal.Shard]journal.Epoch{}
	starts := map[journal.ID]bool{} // → whether a write of it is a start
	settled := map[settlement]bool{}
	for _, w := range writes {
		if epoch, ok := epochs[w.ID.Shard()]; ok && epoch != w.Epoch {
			return false
		}
		epochs[w.ID.Shard()] = w.Epoch
		if started, seen := starts[w.ID]; seen && (started || w.Start != nil) {
			return false
		}
		starts[w.ID] = w.Start != nil
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
	p := &plan{fences: map[journal.Shard]journal.Epoch{}}
	updated := map[journal.ID]int{}
	interrupted := map[journal.ID]bool{}
	started := map[journal.ID]bool{}
	needed := map[journal.ID]bool{} // → whether it must be held
	for _, w := range writes {
		p.fences[w.ID.Shard()] = w.Epoch
		lenient := known == optimistic && bare(w)
		if w.Start != nil {
			started[w.ID] = true
			if lenient {
				p.lenientStarts.add(w.Start)
			} else {
				p.starts.add(w.Start)
			}
		} else if !started[w.ID] {
			needed[w.ID] = needed[w.ID] || w.Settle != nil
		}
		for i := range w.Entries {
			p.entries.add(w.ID, &w.Entries[i])
		}
		if w.Update != nil {
			if i, ok := updated[w.ID]; ok {
				p.updates[i].Update = w.Update // the last one stands
			} else {
				updated[w.ID] = len(p.updates)
				p.updates = append(p.updates, update{w.ID, w.Update})
			}
		}
		if w.Interrupt != nil && !interrupted[w.ID] { // the first one stands
			interrupted[w.ID] = true
			p.interrupts = append(p.interrupts, interrupt{w.ID, w.Interrupt})
		}
		if w.Settle != nil && lenient {
			p.lenientSettles.add(w.ID, w.Settle)
		} else if w.Settle != nil {
			p.settles.add(w.ID, w.Settle)
		}
	}
	for id, held := range needed {
		_, changed := updated[id]
		switch {
		case changed || interrupted[id]:
		case held && known != guest:
			p.held.add(id)
		default:
			p.present.add(id)
		}
	}
	return p
}

// bare tells whether a write asks for nothing but its start or its settlement.
func bare(w *journal.Write) bool {
	parts := 0
	for _, there := range []bool{w.Start != nil, len(w.Entries) > 0, w.Update != nil, w.Settle != nil, w.Interrupt != nil} {
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
		b.Queue(stmtPresent, p.present.shards, p.present.ids, p.present.len())
	}
	if p.held.len() > 0 {
		b.Queue(stmtHeld, p.held.shards, p.held.ids, p.held.len())
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

// queueRowLocks appends a statement that locks the rows which two statements are
// going to change, in one order. Each statement locks in order, but the two
// together would not.
func (p *plan) queueRowLocks(b *pgx.Batch) {
	var ids []journal.ID
	for _, u := range p.updates {
		ids = append(ids, u.id)
	}
	for _, i := range p.interrupts {
		ids = append(ids, i.id)
	}
	slices.SortFunc(ids, func(a, b journal.ID) int { return bytes.Compare(a[:], b[:]) })
	var rows keys
	for _, id := range slices.Compact(ids) {
		rows.add(id)
	}
	b.Queue(stmtLockRows, rows.shards, rows.ids, rows.len())
}

// queueFence appends the check that the shards are still ours.
func (p *plan) queueFence(b *pgx.Batch) {
	shards := make([]int16, 0, len(p.fences))
	epochs := make([]int64, 0, len(p.fences))
	for shard, epoch := range p.fences {
		shards = append(shards, int16(shard))
		epochs = append(epochs, int64(epoch))
	}
	b.Queue(stmtFence, shards, epochs, int64(len(shards)))
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
		texts = append(texts, string(w.Update.State))
	}
	if w.Settle != nil {
		texts = append(texts, w.Settle.Name)
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
