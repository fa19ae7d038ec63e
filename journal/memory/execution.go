package memory

import (
	"bytes"
	"maps"

	"github.com/cruster/cruster/journal"
)

// execution is one with all that belongs to it but its inbox.
type execution struct {
	row       journal.Execution
	entries   map[uint64][]byte // by sequence number, encoded
	links     map[journal.StepID]journal.Link
	saved     *journal.Hibernated // nil if there is none
	published []byte              // the body; nil if there is none
}

// begun is an execution that starts.
func begun(start journal.Execution) *execution {
	row := cloneExecution(start)
	row.Arrivals = 0
	if row.Chain.IsZero() {
		row.Chain = row.Run
	}
	return &execution{row: row, entries: map[uint64][]byte{}, links: map[journal.StepID]journal.Link{}}
}

func (e *execution) clone() *execution {
	return &execution{
		row: e.row, entries: maps.Clone(e.entries), links: maps.Clone(e.links), saved: e.saved, published: e.published,
	}
}

// update changes the row, the saved state and the published values.
func (e *execution) update(w *journal.Write) {
	if u := w.Update; u != nil {
		e.row.State, e.row.WakeAt, e.row.FinishedAt = u.State, u.WakeAt, u.FinishedAt
		if u.State == journal.Running && e.row.Arrivals > u.Arrivals {
			e.row.WakeAt = journal.Now
		}
		e.row.Value, e.row.Error, e.row.Waiting = bytes.Clone(u.Value), cloneError(u.Error), u.Waiting
		e.row.MovedAt, e.row.Section = max(e.row.MovedAt, u.MovedAt), u.Section
		if u.Digest != "" {
			e.row.Digest = u.Digest
		}
		if u.Interrupt != nil && e.row.Interrupt == nil {
			i := *u.Interrupt
			e.row.Interrupt = &i
		}
	}
	if w.Receive != nil {
		e.row.Arrivals++
		if e.row.State == journal.Running {
			e.row.WakeAt = journal.Now
		}
	}
	if h := w.Hibernate; h != nil {
		e.saved = nil
		if len(h.Body) > 0 {
			e.saved = &journal.Hibernated{Seq: h.Seq, Body: bytes.Clone(h.Body)}
		}
	}
	if e.row.State.Final() {
		e.saved = nil
	}
	if w.Publish != nil {
		e.published = w.Publish.Body()
	}
}

// continued is an execution as another run goes on with it.
func continued(e *execution, c *journal.Continuation) *execution {
	row := e.row
	row.Run, row.Continued = c.Run, row.Continued+1
	row.Input, row.Digest, row.Pinned = bytes.Clone(c.Input), c.Digest, c.Pinned
	row.State, row.WakeAt, row.FinishedAt = journal.Running, journal.Now, 0
	row.Value, row.Error, row.Waiting, row.MovedAt, row.Section = nil, nil, journal.Waiting{}, 0, journal.StepID{}
	return &execution{
		row: row, published: e.published,
		entries: map[uint64][]byte{}, links: map[journal.StepID]journal.Link{},
	}
}
