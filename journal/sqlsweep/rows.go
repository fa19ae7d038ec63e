package sqlsweep

import (
	"strconv"

	"github.com/cruster/cruster/journal"
)

// Room is how many rows and bytes one transaction may still delete. On a store with one writer everything waits for it.
type Room struct{ Rows, Bytes int64 }

func newRoom(rows int) *Room {
	return &Room{Rows: int64(min(rows, journal.SweepEntries)), Bytes: journal.SweepBytes}
}

func (r *Room) left() bool { return r.Rows > 0 && r.Bytes > 0 }

func (r *Room) take(rows, bytes int64) {
	r.Rows -= rows
	r.Bytes -= bytes
}

// Rows are the rows of a table that belong to a run, to the inbox of a chain or to an execution, in the order of a key.
// They are found by their shard and the columns of their owner, and the last of those is followed by the key in an
// index.
type Rows struct {
	Table string // without the prefix of the store
	Shard journal.Shard
	Owner []Column
	Key   string
	// Length is the column with nearly all of their bytes, and Size a column with their number;
	// none or one is set.
	Length, Size string
}

// Condition finds the rows of the owner: the shard is the first parameter, and the columns follow it.
func (r *Rows) Condition(parameter string) string {
	condition := "shard = " + parameter + "1"
	for i, column := range r.Owner {
		condition += " AND " + column.Name + " = " + parameter + strconv.Itoa(i+2)
	}
	return condition
}

// Bytes is how many bytes a row has, with the function of the store that tells it of a column.
func (r *Rows) Bytes(length string) string {
	switch {
	case r.Length != "":
		return "coalesce(" + length + "(" + r.Length + "), 0)"
	case r.Size != "":
		return r.Size
	}
	return "0"
}

// Column is a column with its value.
type Column struct {
	Name  string
	Value []byte
}

func rowsOfRun(table, key, length string, of journal.RunKey) *Rows {
	return &Rows{Table: table, Shard: of.Shard, Owner: []Column{{"run", of.Run[:]}}, Key: key, Length: length}
}

// EntriesOf are the rows of a journal.
func EntriesOf(run journal.RunKey) *Rows { return rowsOfRun("entries", "seq", "body", run) }

// InboxOf are the messages to a receiver.
func InboxOf(to journal.Receiver) *Rows {
	return &Rows{
		Table: "inbox",
		Shard: to.ID.Shard(),
		Owner: []Column{{"id", to.ID[:]}, {"chain", to.Chain[:]}},
		Key:   "position",
		Size:  "bytes",
	}
}

func receiptsOf(id journal.ID) *Rows {
	return &Rows{Table: "receipts", Shard: id.Shard(), Owner: []Column{{"id", id[:]}}, Key: "origin", Length: "value"}
}

// rows returns the rows that a run leaves behind, and its chain's if it was the last of it.
func (r *Retired) rows() []*Rows {
	all := []*Rows{
		EntriesOf(r.RunKey),
		rowsOfRun("links", "step", "", r.RunKey),
		rowsOfRun("hibernated", "run", "body", r.RunKey),
		rowsOfRun("inputs", "run", "input", r.RunKey),
		InboxOf(journal.SettlementsOf(r.ID, r.Run)),
	}
	if r.Chain.IsZero() {
		return all
	}
	return append(
		all, rowsOfRun("published", "run", "body", journal.RunKey{Shard: r.Shard, Run: r.Chain}),
		InboxOf(journal.Receiver{ID: r.ID, Chain: r.Chain}),
	)
}
