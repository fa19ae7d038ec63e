package publish

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// maxKept bounds the published values that a run keeps in memory. Most publish little, and often; larger values are
// read from the store each time.
const maxKept = 4 << 10

// Rows reads what executions have published.
type Rows interface {
	Published(ctx context.Context, row *journal.Execution) (*journal.Published, error)
}

// Values are the published values of one run, which may be none.
//
// Invariant: the kept copy equals the store. No one else writes it while this host owns the run; it is replaced when a
// write that replaces it is durable ([Values.Took]), and forgotten with all the rest when it is not known whether one
// is ([Values.Forget]).
type Values struct {
	publisher Publisher
	rows      Rows
	kept      *journal.Published // nil if it is in the store alone
}

// NewValues has nothing in memory.
func NewValues(publisher Publisher, rows Rows) *Values {
	return &Values{publisher: publisher, rows: rows}
}

// Changed returns the values after a body; nil if they stay as they are. Turn are the values that the turn has
// published before the body; nil if there are none. Refused tells the reason if the body is not published: all of it
// is, or nothing.
func (v *Values) Changed(
	ctx context.Context, row *journal.Execution, turn *journal.Published, body *abi.Publish,
) (changed *journal.Published, refused *abi.Error, err error) {
	old := turn
	if old == nil {
		if old, err = v.now(ctx, row); err != nil {
			return nil, nil, err
		}
	}
	changed, refused, err = v.publisher.Merged(ctx, row, old, body)
	if err != nil || refused != nil || Same(changed, old) {
		return nil, refused, err
	}
	return changed, nil, nil
}

// Took notes the values of a durable write.
func (v *Values) Took(w *journal.Write) {
	if w.Publish != nil {
		v.keep(w.Publish)
	}
}

// Forget says that the values are in the store alone.
func (v *Values) Forget() { v.kept = nil }

// now returns the values that are durable.
func (v *Values) now(ctx context.Context, row *journal.Execution) (*journal.Published, error) {
	if v.kept != nil {
		return v.kept, nil
	}
	published, err := v.rows.Published(ctx, row)
	if err == nil {
		v.keep(published)
	}
	return published, err
}

func (v *Values) keep(p *journal.Published) {
	v.kept = p
	if p.Size() > maxKept {
		v.kept = nil
	}
}
