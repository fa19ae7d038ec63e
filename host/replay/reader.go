package replay

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// Pages reads entries with a sequence number above after, in order: a page of them, bounded in bytes. More tells
// whether there are others behind them.
type Pages func(ctx context.Context, after uint64) (entries []journal.Entry, more bool, err error)

// Reader reads a journal turn by turn, holding one page at a time.
type Reader struct {
	pages Pages
	upTo  uint64 // the last sequence number that is wanted

	page []journal.Entry // its remainder
	all  []journal.Entry // all of it
	read uint64          // the last sequence number that was read
	end  bool            // there is no further page

	position Position
}

// Position is how far a journal has been read: the last sequence number, the latest turn and the latest time.
type Position struct {
	Seq  uint64
	Turn uint64
	At   int64
}

// NewReader reads a journal up to and with a sequence number.
func NewReader(pages Pages, upTo uint64) *Reader { return &Reader{pages: pages, upTo: upTo} }

// NewReaderBehind reads a journal whose entries up to a position are known.
func NewReaderBehind(pages Pages, upTo uint64, known Position) *Reader {
	return &Reader{pages: pages, upTo: upTo, read: known.Seq, position: known}
}

// IsLong reads the first page, and tells whether the journal has at least so many entries, or entries too large to fit.
func (r *Reader) IsLong(ctx context.Context, entries int) (bool, error) {
	if len(r.page) == 0 && !r.end {
		if err := r.fill(ctx); err != nil {
			return false, err
		}
	}
	return !r.end || len(r.page) >= entries, nil
}

// Position is the position of the last entry handed out so far.
func (r *Reader) Position() Position { return r.position }

// Next is the next turn: deliveries that were made together, or one other entry. It is empty at the end.
func (r *Reader) Next(ctx context.Context) ([]journal.Entry, error) {
	n := 0
	for {
		for n < len(r.page) && (n == 0 || sameTurn(r.page[0], r.page[n])) {
			n++
		}
		if n < len(r.page) || r.end {
			break
		}
		// The page ends here, the turn perhaps not.
		if err := r.fill(ctx); err != nil {
			return nil, err
		}
	}
	turn := r.page[:n]
	r.page = r.page[n:]
	for _, en := range turn {
		r.position = Position{Seq: en.Seq, Turn: max(r.position.Turn, en.Turn), At: max(r.position.At, en.At)}
	}
	return turn, nil
}

func (r *Reader) fill(ctx context.Context) error {
	entries, more, err := r.pages(ctx, r.read)
	if err != nil {
		return err
	}
	r.end = !more
	for _, en := range entries {
		if en.Seq > r.upTo {
			r.end = true
			break
		}
		r.read = en.Seq
		r.page = append(r.page, en)
	}
	r.all = r.page
	return nil
}

// LetGo drops the values of the page, if all of its entries were handed out. It reports whether they were.
func (r *Reader) LetGo() bool {
	if len(r.page) > 0 {
		return false
	}
	for i := range r.all {
		r.all[i].Value = nil
	}
	return true
}

func sameTurn(a, b journal.Entry) bool {
	return a.Kind == journal.Delivery && b.Kind == journal.Delivery && a.Turn == b.Turn
}
