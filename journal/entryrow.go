package journal

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/cruster/cruster/abi"
)

// Bounds of a row of a journal. One row is read and decoded as a whole, so it is no larger than a
// page of entries; a single entry may be.
const (
	maxRowEntries = 256
	maxRowBytes   = 256 << 10
)

// EntryRow is a row of a journal: the entries of one commit, whose sequence numbers follow each other. A commit whose
// numbers have gaps, or whose entries are many or large, makes several rows: so a row has every number from First to
// Last, and no other row can have one of them.
//
// Its body says its format. A single entry's is the canonical encoding of the entry, which is a
// map. The body of several is an array of such encodings, each as a byte string: an entry that does
// not decode leaves the others of its row readable.
type EntryRow struct {
	First, Last uint64
	Body        []byte
}

// PackEntries makes the rows of the entries of one commit, in the order of their numbers.
func PackEntries(entries []Entry) []EntryRow {
	if len(entries) > 1 && !slices.IsSortedFunc(entries, bySeq) {
		entries = slices.Clone(entries)
		slices.SortFunc(entries, bySeq)
	}
	var rows []EntryRow
	var packed [][]byte // the entries of the row that is being made
	bytes := 0
	flush := func(last uint64) {
		if len(packed) == 0 {
			return
		}
		row := EntryRow{First: last + 1 - uint64(len(packed)), Last: last, Body: packed[0]}
		if len(packed) > 1 {
			row.Body = abi.MustMarshal(packed)
		}
		rows = append(rows, row)
		packed, bytes = nil, 0
	}
	last := uint64(0)
	for i := range entries {
		e := &entries[i]
		body := abi.MustMarshal(e)
		if e.Seq != last+1 || len(packed) == maxRowEntries || bytes+len(body) > maxRowBytes {
			flush(last)
		}
		packed, bytes, last = append(packed, body), bytes+len(body), e.Seq
	}
	flush(last)
	return rows
}

func bySeq(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) }

// EntryPage gathers a page of entries from rows, which come in order.
type EntryPage struct {
	Entries []Entry
	// More says that there is at least one entry behind the page.
	More bool

	after uint64
	room  Room
}

// NewEntryPage is an empty page of entries behind after.
func NewEntryPage(after uint64, limit PageLimit) *EntryPage {
	return &EntryPage{after: after, room: limit.Room()}
}

// Add adds the entries of a row that are behind the place where the page begins. It reports false
// once the page is full, or ends before an entry that does not decode; if it would begin with that
// one, the answer is a [DamagedEntry].
func (p *EntryPage) Add(first, last uint64, body []byte) (bool, error) {
	packed, err := unpackRow(first, last, body)
	if err != nil {
		return p.damaged(&DamagedEntry{Seq: max(first, p.after+1), Bytes: body, Cause: err})
	}
	for i, raw := range packed {
		seq := first + uint64(i)
		if seq <= p.after {
			continue
		}
		if !p.room.Take(len(raw)) {
			p.More = true
			return false, nil
		}
		var e Entry
		if err := abi.Unmarshal(raw, &e); err != nil {
			return p.damaged(&DamagedEntry{Seq: seq, Bytes: raw, Cause: err})
		}
		p.Entries = append(p.Entries, e)
	}
	return true, nil
}

func (p *EntryPage) damaged(entry *DamagedEntry) (bool, error) {
	if len(p.Entries) == 0 {
		return false, entry
	}
	p.More = true
	return false, nil
}

// unpackRow takes a row apart into its encoded entries.
func unpackRow(first, last uint64, body []byte) (packed [][]byte, err error) {
	if first == last && !isArray(body) {
		return [][]byte{body}, nil
	}
	if err := abi.Unmarshal(body, &packed); err != nil {
		return nil, err
	}
	if want := last - first + 1; uint64(len(packed)) != want {
		return nil, fmt.Errorf("a row of %d entries has %d", want, len(packed))
	}
	return packed, nil
}

// isArray tells whether an encoded value is an array.
func isArray(body []byte) bool {
	return len(body) > 0 &&
		(msgpcode.IsFixedArray(body[0]) || body[0] == msgpcode.Array16 || body[0] == msgpcode.Array32)
}
