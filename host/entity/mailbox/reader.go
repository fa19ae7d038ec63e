package mailbox

import (
	"context"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

// Store has the inboxes.
type Store interface {
	Messages(
		ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit,
	) ([]journal.Message, bool, error)
}

// Reader reads inboxes.
type Reader struct {
	Host *hoststate.State
	// Queued is the memory of calls that wait.
	Queued  *budget.Budget
	Store   Store
	Targets target.Finder
}

// Page is a part of an inbox.
type Page struct {
	Calls  []*call.Call // in order
	Starts bool         // there are workflows to be started
	Last   uint64       // position of the last message
	More   bool         // there are others behind it
	Acked  uint64       // the highest position that was acknowledged before it was read

	bytes int // of the messages of its calls
}

// Read reads the beginning of an inbox. A message that is taken out is not there any more. Acked is the highest
// position that was acknowledged by now.
func (r *Reader) Read(id journal.ID, acked uint64) (Page, error) {
	p := Page{Acked: acked}
	err := fault.Guard(func() error {
		for goOn := true; goOn; {
			var err error
			if goOn, err = r.readMore(id, &p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, c := range p.Calls {
			c.Release()
		}
	}
	return p, err
}

// readMore reads the messages behind a page. It reports whether there is room left in the page:
// workflows to be started take none, so that calls behind any number of them are found.
func (r *Reader) readMore(id journal.ID, p *Page) (goOn bool, err error) {
	limit := journal.PageLimit{Entries: call.MaxBatch - len(p.Calls), Bytes: call.MaxBatchBytes - p.bytes}
	messages, more, err := r.Store.Messages(r.Host.Context(), journal.Receiver{ID: id}, p.Last, limit)
	if err != nil {
		return false, err
	}
	p.More = more
	before := len(p.Calls)
	for i := range messages {
		fits, err := r.addTo(p, &messages[i])
		if err != nil {
			return false, err
		}
		if !fits {
			p.More = true
			return false, nil
		}
	}
	starts := len(messages) - (len(p.Calls) - before)
	return more && starts > 0 && p.bytes < call.MaxBatchBytes, nil
}

// addTo adds a message to a page. It reports false if there is no memory for it. The first one needs none: an entity
// goes on whatever others have taken.
func (r *Reader) addTo(p *Page, m *journal.Message) (fits bool, err error) {
	if m.Kind == journal.StartMessage {
		p.Starts, p.Last = true, m.Position
		return true, nil
	}
	c, err := call.Of(r.Host.Context(), r.Targets, m)
	if err != nil {
		return false, err
	}
	if c.Admit(r.Queued) != nil && len(p.Calls) > 0 {
		return false, nil
	}
	p.Calls, p.Last, p.bytes = append(p.Calls, c), m.Position, p.bytes+m.Bytes
	return true, nil
}
