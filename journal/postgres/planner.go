package postgres

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/cruster/cruster/journal"
)

// newPlan makes the plan of writes that are independent or decided. Rows go in the order of their ids, so that batches
// that touch the same ones wait for each other instead of deadlocking; writes of one execution keep their order, and so
// do messages to one receiver.
func newPlan(writes []*journal.Write, known premise) *plan {
	p := &planner{
		plan: &plan{
			hibernated: map[journal.ID]*journal.Hibernated{}, entities: map[journal.ID]*journal.Entity{},
			entityLocks: map[journal.ID]*journal.Lock{}, published: map[journal.ID]*journal.Published{},
			arrivals: map[journal.ID]int64{}, lenient: map[journal.ID]bool{},
			known: known, runs: map[journal.ID]journal.RunID{}, chains: map[journal.ID]journal.RunID{},
		},
		updated: map[journal.ID]int{},
	}
	p.mail.room, p.mail.holds = map[journal.Receiver]*room{}, map[place]bool{}
	for _, w := range writes {
		p.mail.put(w, known)
	}
	writes = slices.Clone(writes)
	slices.SortStableFunc(writes, func(a, b *journal.Write) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	for _, w := range writes {
		p.add(w)
	}
	return p.plan
}

// planner makes a plan.
type planner struct {
	*plan
	updated map[journal.ID]int // → place in updates
}

// add adds all of a write but the messages that it receives and sends.
func (p *planner) add(w *journal.Write) {
	p.mail.take(w)
	if w.OfEntity() {
		if w.Entity != nil || w.Destroy {
			p.entities[w.ID] = w.Entity // the last one stands
		}
		if w.Lock != nil || w.Unlock {
			p.entityLocks[w.ID] = w.Lock
		}
		return
	}
	p.runs[w.ID], p.chains[w.ID] = w.Run, w.Receiver().Chain
	if w.Start != nil && !w.Replace.IsZero() && p.known == decided {
		p.superseded.add(w.ID, w.Replace)
	}
	lenient := p.known == optimistic && bare(w)
	p.addRows(w, lenient)
	p.noteArrival(w, lenient)
	p.entries.add(w, p.known)
	if w.Update != nil {
		if i, ok := p.updated[w.ID]; ok {
			p.updates[i].Update = followed(p.updates[i].Update, w.Update)
		} else {
			p.updated[w.ID] = len(p.updates)
			p.updates = append(p.updates, update{w.ID, w.Run, w.Receiver().Chain, w.Update})
		}
	}
	if w.Hibernate != nil {
		p.hibernated[w.ID] = w.Hibernate // the last one stands
	}
	if w.Update != nil && w.Update.State.Final() {
		p.hibernated[w.ID] = &journal.Hibernated{}
	}
	if w.Publish != nil {
		p.published[w.ID] = w.Publish // the last one stands
	}
	if w.Continue != nil {
		p.continues = append(p.continues, continuation{w.ID, w.Run, w.Receiver().Chain, w.Continue})
	}
}

// addRows adds the rows of a write that may be there already.
func (p *planner) addRows(w *journal.Write, lenient bool) {
	starts, links := &p.starts, &p.links
	if lenient {
		starts, links = &p.lenientStarts, &p.lenientLinks
	}
	if w.Start != nil {
		starts.add(w.Start)
	}
	if w.Link != nil {
		links.add(journal.KeyOf(w.ID, w.Run), w.Link)
	}
}

// noteArrival notes whether the execution counts a message. An update counts as one before it, wherever it stands: the
// messages that its owner knows were there before the batch.
func (p *plan) noteArrival(w *journal.Write, lenient bool) {
	switch {
	case w.Receive == nil:
	case lenient:
		p.lenient[w.ID] = true
	default:
		p.arrivals[w.ID]++
	}
}

// followed merges two updates of one execution: the last one stands, except for fields that it
// leaves alone.
func followed(first, last *journal.Update) *journal.Update {
	both := *last
	if both.Digest == "" {
		both.Digest = first.Digest
	}
	both.MovedAt = max(both.MovedAt, first.MovedAt)
	both.Interrupt = cmp.Or(first.Interrupt, last.Interrupt)
	return &both
}
