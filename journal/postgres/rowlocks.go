package postgres

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// rowLocks are the rows of executions that a transaction locks before all else, and those it looks at.
//
// Batches that need the same rows must take them in the same order, or the server rolls one back after it has waited
// for a second. A batch has many statements that lock rows of executions: statements of links and receipts rely on a
// run that is not replaced or deleted meanwhile; updates and wake-ups change rows; the end of a run, its continuation
// and its successor change a key, which excludes the first kind. Each statement has its rows in order, together they
// have not. So one statement locks the union of the rows, in the order of their ids, each as strongly as any later
// statement needs it. It checks runs and chains as well, and takes the place of the statements that only do that: a
// batch has no more statements for it. A batch whose rows are all locked by one statement anyway, its updates, needs
// none.
//
// The order follows the arrays: a lateral subquery that locks is run for each row of the outer
// relation in turn.
type rowLocks struct {
	rows    []lockedRow // in the order of their ids
	present []lockedRow // only looked at
}

// lockedRow is the row of an execution, with the run and chain that it must have.
type lockedRow struct {
	id         journal.ID
	run, chain journal.RunID // zero: any
	mode       lockMode
	open       bool // the run must not be over
}

// lockMode says how strongly a row is locked.
type lockMode int16

const (
	unlocked     lockMode = iota
	keyShared             // its run goes on: FOR KEY SHARE
	toBeChanged           // FOR NO KEY UPDATE; FOR UPDATE if the run has ended, which an update may change
	toBeReplaced          // its run ends or is another one, which are keys: FOR UPDATE
)

// lockModeOf is how a write of a run that is there needs its row locked.
func lockModeOf(w *journal.Write, known premise) lockMode {
	switch {
	case known == guest:
		return keyShared // see guestTx.Commit
	case w.Continue != nil || w.Update != nil && (w.Update.State.Final() || w.Update.FinishedAt != 0):
		return toBeReplaced
	case w.Update != nil || w.Receive != nil:
		return toBeChanged
	case w.Link != nil || len(w.Receipts) > 0 || w.Publish != nil:
		return keyShared
	}
	return unlocked
}

// rowLocksOf finds the rows that a transaction of writes locks.
func rowLocksOf(writes []*journal.Write, known premise) *rowLocks {
	p := &lockPlanner{
		known:    known,
		started:  map[journal.ID]bool{},
		expected: map[journal.ID]bool{},
		open:     map[journal.ID]bool{},
		changed:  map[journal.ID]bool{},
		modes:    map[journal.ID]lockMode{},
		rows:     map[lockedRow]bool{},
		updated:  map[journal.ID]bool{},
	}
	for _, w := range writes {
		if !w.OfEntity() {
			p.add(w)
		}
	}
	return p.locks()
}

type lockPlanner struct {
	known    premise
	started  map[journal.ID]bool // by a write before, so that no other transaction sees the row
	expected map[journal.ID]bool // to be of a certain run when the transaction begins
	open     map[journal.ID]bool // to be of an unfinished run then
	changed  map[journal.ID]bool // by a write before
	modes    map[journal.ID]lockMode
	rows     map[lockedRow]bool // without modes
	updated  map[journal.ID]bool
}

func (p *lockPlanner) add(w *journal.Write) {
	if w.Start != nil {
		if !w.Replace.IsZero() && p.known == decided {
			p.expect(w.ID, w.Replace, journal.RunID{}, toBeReplaced)
		}
		p.started[w.ID], p.changed[w.ID] = true, true
		return
	}
	p.open[w.ID] = p.open[w.ID] || w.Receive != nil && !p.changed[w.ID]
	p.expect(w.ID, w.Run, w.Receiver().Chain, lockModeOf(w, p.known))
	p.changed[w.ID] = p.changed[w.ID] || w.Update != nil || w.Continue != nil
	if w.Link != nil && !(p.known == decided && p.started[w.Link.Callee]) {
		p.modes[w.Link.Callee] = max(p.modes[w.Link.Callee], keyShared)
		p.rows[lockedRow{id: w.Link.Callee, chain: w.Link.Chain}] = true
	}
	if w.Update != nil {
		p.updated[w.ID] = true
	}
}

// expect has the row of an execution locked. Of writes decided one after the other the first tells
// the row's state when the transaction begins; the later ones may build on another run.
func (p *lockPlanner) expect(id journal.ID, run, chain journal.RunID, mode lockMode) {
	if p.started[id] {
		return
	}
	p.modes[id] = max(p.modes[id], mode)
	if p.known != decided || !p.expected[id] {
		p.rows[lockedRow{id: id, run: run, chain: chain}] = true
	}
	p.expected[id] = true
}

func (p *lockPlanner) locks() *rowLocks {
	l := &rowLocks{}
	for row := range p.rows {
		row.open = p.open[row.id]
		if row.mode = p.modes[row.id]; row.mode == unlocked {
			l.present = append(l.present, row)
		} else {
			l.rows = append(l.rows, row)
		}
	}
	order := func(a, b lockedRow) int {
		return cmp.Or(
			bytes.Compare(a.id[:], b.id[:]), bytes.Compare(a.run[:], b.run[:]), bytes.Compare(a.chain[:], b.chain[:]),
		)
	}
	slices.SortFunc(l.rows, order)
	slices.SortFunc(l.present, order)
	if p.known == optimistic && p.lockedBy(l.rows) {
		l.rows = nil
	}
	return l
}

// lockedBy tells whether the rows belong to the updates, and each is expected to be of one run.
func (p *lockPlanner) lockedBy(rows []lockedRow) bool {
	for i, row := range rows {
		if !p.updated[row.id] || row.open || i > 0 && rows[i-1].id == row.id {
			return false
		}
	}
	return true
}

// queue appends the statements that lock and check rows.
func (l *rowLocks) queue(b *pgx.Batch) {
	if len(l.rows) > 0 {
		k, chains, modes, open := rowLockColumns(l.rows)
		b.Queue(stmtLockRows, k.shards, k.ids, k.runs, chains, modes, k.len(), open)
	}
	if len(l.present) > 0 {
		k, chains, _, _ := rowLockColumns(l.present)
		b.Queue(stmtPresent, k.shards, k.ids, k.runs, chains, k.len())
	}
}

func rowLockColumns(rows []lockedRow) (k runKeys, chains [][]byte, modes []int16, open []bool) {
	column := func(run *journal.RunID) []byte { // NULL: any
		if run.IsZero() {
			return nil
		}
		return run[:]
	}
	for i := range rows {
		k.keys.add(rows[i].id)
		k.runs, chains = append(k.runs, column(&rows[i].run)), append(chains, column(&rows[i].chain))
		modes, open = append(modes, int16(rows[i].mode)), append(open, rows[i].open)
	}
	return k, chains, modes, open
}
