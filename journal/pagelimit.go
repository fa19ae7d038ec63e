package journal

import (
	"context"
	"iter"
)

// Defaults of [PageLimit].
const (
	defaultPageEntries = 256
	defaultPageBytes   = 1 << 20
)

// PageLimit bounds a page of a journal, whatever the entries hold: an entry may be as large as a payload, and a page of
// a fixed number of them would be as large as the memory of a small host.
type PageLimit struct {
	// Bytes bounds the entries as they are stored, in total. A page has one entry at least, however large that is.
	// Defaults to 1 MiB.
	Bytes int
	// Entries is how many there are at most. Defaults to 256.
	Entries int
}

// Room returns the room of an empty page.
func (l PageLimit) Room() Room {
	r := Room{entries: l.Entries, bytes: l.Bytes}
	if r.entries <= 0 {
		r.entries = defaultPageEntries
	}
	if r.bytes <= 0 {
		r.bytes = defaultPageBytes
	}
	return r
}

// Room is the remaining room of a page while it is filled.
type Room struct {
	entries, bytes int
	taken          bool // it is not empty
}

// Left is how many entries and bytes there is room for.
func (r *Room) Left() (entries, bytes int) { return r.entries, max(r.bytes, 0) }

// Take takes room for one more entry. It reports false, and takes none, if the page is full without it.
func (r *Room) Take(bytes int) bool {
	if r.entries <= 0 || r.taken && bytes > r.bytes {
		return false
	}
	r.entries, r.bytes, r.taken = r.entries-1, r.bytes-bytes, true
	return true
}

// EntryReader reads journals.
type EntryReader interface {
	// Entries reads entries with a Seq above after, in order: a page of them. More tells whether there are others
	// behind them. A page ends before an entry that does not decode; that one is a [DamagedEntry], once a page would
	// begin with it.
	Entries(ctx context.Context, run RunKey, after uint64, limit PageLimit) (entries []Entry, more bool, err error)
}

// Scan yields the entries of a journal in order, and has a page of them in memory at a time. It ends with the first
// error.
func Scan(ctx context.Context, store EntryReader, run RunKey) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		after := uint64(0)
		for more := true; more; {
			var page []Entry
			var err error
			if page, more, err = store.Entries(ctx, run, after, PageLimit{}); err != nil {
				yield(Entry{}, err)
				return
			}
			for _, en := range page {
				if !yield(en, nil) {
					return
				}
				after = en.Seq
			}
		}
	}
}
