package host

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// replayPage is how many entries are read at a time. Each may be as large as a
// payload, hence so few.
const replayPage = 64

// journalReader reads a journal turn by turn, holding one page at a time.
type journalReader struct {
	store journal.Store
	id    journal.ID
	upTo  uint64 // the last sequence number that is wanted

	page []journal.Entry
	read uint64 // the last sequence number that was read from the store
	end  bool   // there is no further page

	// Of what was handed out so far: the last number, turn and time.
	seq, turn uint64
	at        int64
}

// next is the next turn: deliveries that belong together, or one other entry.
// It is empty at the end.
func (jr *journalReader) next(ctx context.Context) ([]journal.Entry, error) {
	n := 0
	for {
		for n < len(jr.page) && (n == 0 || sameTurn(jr.page[0], jr.page[n])) {
			n++
		}
		if n < len(jr.page) || jr.end {
			break
		}
		// The page ends here, the turn perhaps not.
		if err := jr.fill(ctx); err != nil {
			return nil, err
		}
	}
	turn := jr.page[:n]
	jr.page = jr.page[n:]
	for _, en := range turn {
		jr.seq, jr.turn, jr.at = en.Seq, max(jr.turn, en.Turn), max(jr.at, en.At)
	}
	return turn, nil
}

func (jr *journalReader) fill(ctx context.Context) error {
	entries, err := jr.store.Entries(ctx, jr.id, jr.read, replayPage)
	if err != nil {
		return err
	}
	jr.end = len(entries) < replayPage
	for _, en := range entries {
		if en.Seq > jr.upTo {
			jr.end = true
			break
		}
		jr.read = en.Seq
		jr.page = append(jr.page, en)
	}
	return nil
}

func sameTurn(a, b journal.Entry) bool {
	return a.Kind == journal.Delivery && b.Kind == journal.Delivery && a.Turn == b.Turn
}
