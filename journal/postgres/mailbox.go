package postgres

import (
	"fmt"
	"slices"

	"github.com/cruster/cruster/journal"
)

// mailboxes is a snapshot's view of inboxes and receipts: as much as the writes depend on.
type mailboxes struct {
	mailed   map[mailKey]bool // there is a message
	answered map[mailKey]bool // there is a receipt
	messages map[place]message
	parked   map[place]message
	tallies  map[journal.Receiver]tally
	aside    map[journal.Receiver]tally // of parked messages
}

// message is a message that a write wants to take, park or unpark.
type message struct {
	origin journal.Origin
	bytes  int64
}

func newMailboxes() mailboxes {
	return mailboxes{
		mailed:   map[mailKey]bool{},
		answered: map[mailKey]bool{},
		messages: map[place]message{},
		tallies:  map[journal.Receiver]tally{},
		parked:   map[place]message{},
		aside:    map[journal.Receiver]tally{},
	}
}

func (m *mailboxes) knows(to journal.Receiver, origin journal.Origin) bool {
	return m.mailed[mailKey{to, origin}] || m.answered[receiptOf(to.ID, origin)]
}

// receiptOf names the receipt of a message, whatever run took it.
func receiptOf(id journal.ID, origin journal.Origin) mailKey {
	return mailKey{journal.Receiver{ID: id}, origin}
}

// decide decides about a write; the zero Result says that nothing in the inboxes keeps it from taking effect.
func (m *mailboxes) decide(w *journal.Write) journal.Result {
	if r := w.Receive; r != nil {
		switch {
		case m.knows(w.ReceivedBy(), r.Origin):
			return journal.Result{Existed: true}
		case m.tallies[w.ReceivedBy()].full(r) || r.Kind.Bounded() && m.aside[w.ReceivedBy()].parkedFull():
			return journal.Result{Err: journal.ErrInboxFull}
		}
	}
	if err := m.checkPlaces(w); err != nil {
		return journal.Result{Err: err}
	}
	left := map[journal.Origin]bool{}
	for i := range w.Receipts {
		origin := w.Receipts[i].Origin
		if left[origin] || m.answered[receiptOf(w.ID, origin)] {
			return journal.Result{Err: errReceiptThere(w.ID, origin)}
		}
		left[origin] = true
	}
	if m.overfills(w) {
		return journal.Result{Err: journal.ErrInboxFull}
	}
	return journal.Result{}
}

// checkPlaces refuses a write that takes, holds, parks or unparks a message which is not where it says.
func (m *mailboxes) checkPlaces(w *journal.Write) error {
	back, taken, parked := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	for _, position := range w.Unpark {
		if _, there := m.parked[place{w.Receiver(), position}]; !there || back[position] {
			return fmt.Errorf("postgres: message %d to %s is not parked", position, w.ID)
		}
		back[position] = true
	}
	there := func(position uint64) bool {
		_, there := m.messages[place{w.Receiver(), position}]
		return (there || back[position]) && !taken[position] && !parked[position]
	}
	missing := func(position uint64) error {
		return fmt.Errorf("postgres: there is no message %d to %s", position, w.ID)
	}
	for _, position := range w.Take {
		if !there(position) {
			return missing(position)
		}
		taken[position] = true
	}
	for _, position := range w.Hold {
		if !there(position) {
			return missing(position)
		}
	}
	for i := range w.Park {
		if position := w.Park[i].Position; !there(position) {
			return missing(position)
		}
		parked[w.Park[i].Position] = true
	}
	return nil
}

// overfills reports whether the messages sent by a write exceed the bounds of an inbox.
func (m *mailboxes) overfills(w *journal.Write) bool {
	if len(w.Send) == 0 {
		return false
	}
	after := newMailboxes() // as far as the write goes
	for _, position := range slices.Concat(w.Take, parkedPositions(w)) {
		key := place{w.Receiver(), position}
		after.messages[key] = m.messages[key]
	}
	for _, position := range w.Unpark {
		key := place{w.Receiver(), position}
		after.parked[key] = m.parked[key]
	}
	after.tallies[w.Receiver()] = m.tallies[w.Receiver()]
	for i := range w.Send {
		to, origin := w.ReceiverOf(&w.Send[i]), w.Send[i].Origin
		after.mailed[mailKey{to, origin}], after.tallies[to] = m.mailed[mailKey{to, origin}], m.tallies[to]
		after.answered[receiptOf(to.ID, origin)] = m.answered[receiptOf(to.ID, origin)]
	}
	for _, sent := range after.apply(w).Send {
		if to := w.ReceiverOf(&sent); sent.Kind.Bounded() &&
			(after.tallies[to].overfull() || m.aside[to].parkedFull()) {
			return true
		}
	}
	return false
}

// apply records the effects of a write, and returns it with the messages that are not there yet.
func (m *mailboxes) apply(w *journal.Write) *journal.Write {
	m.unpark(w)
	for _, position := range w.Take {
		to := w.Receiver()
		taken := m.messages[place{to, position}]
		delete(m.messages, place{to, position})
		delete(m.mailed, mailKey{to, taken.origin})
		t := m.tallies[to]
		m.tallies[to] = tally{t.messages - 1, t.bytes - taken.bytes}
	}
	m.park(w)
	for i := range w.Receipts {
		m.answered[receiptOf(w.ID, w.Receipts[i].Origin)] = true
	}
	if w.Receive != nil {
		m.put(w.ReceivedBy(), w.Receive)
	}
	if len(w.Send) == 0 {
		return w
	}
	effective := *w
	effective.Send = nil
	for i := range w.Send {
		if sent := &w.Send[i]; !m.knows(w.ReceiverOf(sent), sent.Origin) {
			m.put(w.ReceiverOf(sent), &sent.Message)
			effective.Send = append(effective.Send, *sent)
		}
	}
	return &effective
}

func (m *mailboxes) put(to journal.Receiver, put *journal.Message) {
	m.mailed[mailKey{to, put.Origin}] = true
	m.tallies[to] = m.tallies[to].plus(put.Bytes)
}

// dependencies of writes on inboxes.
type mailDependencies struct {
	mailed, answered mailKeys
	takes            takeRows
	receivers        receiverKeys
}

func (d *mailDependencies) add(w *journal.Write) {
	known := func(k *mailKeys, to journal.Receiver, origin *journal.Origin) {
		k.add(to)
		k.origins = append(k.origins, origin[:])
	}
	if w.Receive != nil {
		d.receivers.add(w.ReceivedBy())
		known(&d.mailed, w.ReceivedBy(), &w.Receive.Origin)
		known(&d.answered, w.ReceivedBy(), &w.Receive.Origin)
	}
	for i := range w.Send {
		to := w.ReceiverOf(&w.Send[i])
		d.receivers.add(to)
		known(&d.mailed, to, &w.Send[i].Origin)
		known(&d.answered, to, &w.Send[i].Origin)
	}
	for i := range w.Receipts {
		known(&d.answered, w.Receiver(), &w.Receipts[i].Origin)
	}
	for _, position := range slices.Concat(w.Take, w.Hold, w.Unpark, parkedPositions(w)) {
		d.takes.add(w.Receiver(), position)
	}
}
