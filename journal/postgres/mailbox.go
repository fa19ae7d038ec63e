package postgres

import (
	"fmt"
	"slices"

	"github.com/cruster/cruster/journal"
)

// mailboxes is what a snapshot knows of inboxes and receipts: as much as the writes
// depend on.
type mailboxes struct {
	mailed   map[mailKey]bool // there is a message
	answered map[mailKey]bool // there is a receipt
	messages map[entryKey]message
	tallies  map[journal.ID]tally
}

// message is one that a write wants to take.
type message struct {
	origin journal.Origin
	bytes  int64
}

func newMailboxes() mailboxes {
	return mailboxes{
		mailed: map[mailKey]bool{}, answered: map[mailKey]bool{}, messages: map[entryKey]message{}, tallies: map[journal.ID]tally{},
	}
}

func (m *mailboxes) knows(key mailKey) bool { return m.mailed[key] || m.answered[key] }

// decide tells what becomes of a write; the zero Result says that nothing in the inboxes
// keeps it from taking effect.
func (m *mailboxes) decide(w *journal.Write) journal.Result {
	if r := w.Receive; r != nil {
		switch {
		case m.knows(mailKey{w.ID, r.Origin}):
			return journal.Result{Existed: true}
		case m.tallies[w.ID].full(r.Bytes):
			return journal.Result{Err: journal.ErrInboxFull}
		}
	}
	taken := map[uint64]bool{}
	for _, position := range w.Take {
		if _, there := m.messages[entryKey{w.ID, position}]; !there || taken[position] {
			return journal.Result{Err: fmt.Errorf("postgres: there is no message %d to %s", position, w.ID)}
		}
		taken[position] = true
	}
	for _, position := range w.Hold {
		if _, there := m.messages[entryKey{w.ID, position}]; !there || taken[position] {
			return journal.Result{Err: fmt.Errorf("postgres: there is no message %d to %s", position, w.ID)}
		}
	}
	left := map[journal.Origin]bool{}
	for i := range w.Receipts {
		origin := w.Receipts[i].Origin
		if left[origin] || m.answered[mailKey{w.ID, origin}] {
			return journal.Result{Err: fmt.Errorf("postgres: there is a receipt %x of %s", origin, w.ID)}
		}
		left[origin] = true
	}
	if m.overfills(w) {
		return journal.Result{Err: journal.ErrInboxFull}
	}
	return journal.Result{}
}

// overfills tells whether what a write sends is more than an inbox may hold.
func (m *mailboxes) overfills(w *journal.Write) bool {
	if len(w.Send) == 0 {
		return false
	}
	after := newMailboxes() // as far as the write goes
	for _, position := range w.Take {
		key := entryKey{w.ID, position}
		after.messages[key] = m.messages[key]
	}
	after.tallies[w.ID] = m.tallies[w.ID]
	for i := range w.Send {
		to, key := w.Send[i].To, mailKey{w.Send[i].To, w.Send[i].Origin}
		after.mailed[key], after.answered[key], after.tallies[to] = m.mailed[key], m.answered[key], m.tallies[to]
	}
	for _, sent := range after.apply(w).Send {
		if after.tallies[sent.To].overfull() {
			return true
		}
	}
	return false
}

// apply notes the effects of a write, and leaves of what it sends what is not there yet.
func (m *mailboxes) apply(w *journal.Write) *journal.Write {
	for _, position := range w.Take {
		taken := m.messages[entryKey{w.ID, position}]
		delete(m.messages, entryKey{w.ID, position})
		delete(m.mailed, mailKey{w.ID, taken.origin})
		t := m.tallies[w.ID]
		m.tallies[w.ID] = tally{t.messages - 1, t.bytes - taken.bytes}
	}
	for i := range w.Receipts {
		m.answered[mailKey{w.ID, w.Receipts[i].Origin}] = true
	}
	if w.Receive != nil {
		m.put(w.ID, w.Receive)
	}
	if len(w.Send) == 0 {
		return w
	}
	effective := *w
	effective.Send = nil
	for i := range w.Send {
		if sent := &w.Send[i]; !m.knows(mailKey{sent.To, sent.Origin}) {
			m.put(sent.To, &sent.Message)
			effective.Send = append(effective.Send, *sent)
		}
	}
	return &effective
}

func (m *mailboxes) put(to journal.ID, put *journal.Message) {
	m.mailed[mailKey{to, put.Origin}] = true
	m.tallies[to] = m.tallies[to].plus(put.Bytes)
}

// dependencies of writes on inboxes.
type mailDependencies struct {
	mailed, answered mailKeys
	takes            takeRows
	receivers        keys
}

func (d *mailDependencies) add(w *journal.Write) {
	known := func(k *mailKeys, id journal.ID, origin *journal.Origin) {
		k.add(id)
		k.origins = append(k.origins, origin[:])
	}
	if w.Receive != nil {
		d.receivers.add(w.ID)
		known(&d.mailed, w.ID, &w.Receive.Origin)
		known(&d.answered, w.ID, &w.Receive.Origin)
	}
	for i := range w.Send {
		d.receivers.add(w.Send[i].To)
		known(&d.mailed, w.Send[i].To, &w.Send[i].Origin)
		known(&d.answered, w.Send[i].To, &w.Send[i].Origin)
	}
	for i := range w.Receipts {
		known(&d.answered, w.ID, &w.Receipts[i].Origin)
	}
	for _, position := range slices.Concat(w.Take, w.Hold) {
		d.takes.add(w.ID, position)
	}
}
