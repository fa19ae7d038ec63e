package postgres

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// mail is the part of a plan that changes inboxes.
//
// Messages that a write receives and messages that it sends are rows of one table. Rows that decide
// about nothing but themselves, and may have a receipt or a message already, are lenient. The
// server assigns the positions, in the order of the rows of a statement.
//
// The order of the statements. Whether there is room is looked at before anything is taken, so that
// a batch that makes room for itself is decided write by write. Messages are taken and receipts
// left before messages are put: one repeated while it is taken finds the receipt. A message whose
// like is taken without a receipt by the same plan is not decided by that order: the transaction
// stops (undecided). A statement does not see commits of others while it runs, and so may miss a
// receipt, and put a message again that was taken at this moment. The unique index lets it do so
// only once the other has committed, and so a second statement sees the receipt, and stops the
// transaction: stmtUnanswered.
type mail struct {
	rows, lenient mailRows
	room          map[journal.Receiver]*room // that must be free
	takes         takeRows
	holds         map[place]bool
	unparks       takeRows
	parks         parkRows
	receipts      receiptRows
}

// mailKey names a message by its receiver and origin; or a receipt, whose receiver has no chain.
type mailKey struct {
	to     journal.Receiver
	origin journal.Origin
}

// place names a message by where it stands.
type place struct {
	to       journal.Receiver
	position uint64
}

// tally is how much there is in an inbox.
type tally struct{ messages, bytes int64 }

func (t tally) plus(bytes int) tally { return tally{t.messages + 1, t.bytes + int64(bytes)} }

// room is how much a plan puts into an inbox.
type room struct {
	received, sent tally
	bounded        bool               // some of it is
	limit          journal.InboxLimit // of received messages
}

// overfull reports whether it exceeds the bounds of an inbox, also the bounds for messages sent by
// others.
func (t tally) overfull() bool {
	return t.messages > journal.MaxSentInbox || t.bytes > journal.MaxSentInboxBytes
}

// full tells whether there is no room for a message to be received.
func (t tally) full(m *journal.Message) bool {
	limit, bounded := m.Kind.Limit()
	return bounded && limit.Exceeded(t.messages, t.bytes, m.Bytes)
}

// put adds the messages that a write receives and sends. Writes are added in their order, which is
// also the order of a receiver's messages.
func (m *mail) put(w *journal.Write, known premise) {
	if r := w.Receive; r != nil {
		if known == optimistic && bare(w) {
			m.lenient.add(w.ReceivedBy(), r)
		} else {
			m.rows.add(w.ReceivedBy(), r)
		}
		if known == optimistic {
			of := m.roomOf(w.ReceivedBy())
			limit, bounded := r.Kind.Limit()
			of.received, of.bounded, of.limit = of.received.plus(r.Bytes), of.bounded || bounded, limit
		}
	}
	for i := range w.Send {
		sent := &w.Send[i]
		to := w.ReceiverOf(sent)
		if known == decided {
			m.rows.add(to, &sent.Message)
		} else {
			m.lenient.add(to, &sent.Message)
			of := m.roomOf(to)
			of.sent = of.sent.plus(sent.Bytes)
			of.bounded = of.bounded || sent.Kind.Bounded()
		}
	}
}

func (m *mail) roomOf(to journal.Receiver) *room {
	if m.room[to] == nil {
		m.room[to] = &room{}
	}
	return m.room[to]
}

// parkedFull tells whether there are so many parked messages that an entity takes no more.
func (t tally) parkedFull() bool {
	return t.messages >= journal.MaxParked || t.bytes >= journal.MaxParkedBytes
}

// take adds the messages that a write takes, holds, parks and unparks, and its receipts.
func (m *mail) take(w *journal.Write) {
	for _, position := range w.Unpark {
		m.unparks.add(w.Receiver(), position)
	}
	for i := range w.Park {
		m.parks.add(w.Receiver(), &w.Park[i])
	}
	for _, position := range w.Take {
		m.takes.add(w.Receiver(), position)
		delete(m.holds, place{w.Receiver(), position}) // by a write before it
	}
	for _, position := range w.Hold {
		m.holds[place{w.Receiver(), position}] = true
	}
	for i := range w.Receipts {
		m.receipts.add(w.ID, &w.Receipts[i])
	}
}

func (m *mail) queue(b *pgx.Batch, counted [][]byte, known premise, a *answers) {
	if known != guest {
		m.queueRoom(b)
	}
	if m.unparks.len() > 0 {
		b.Queue(stmtUnpark, m.unparks.shards, m.unparks.ids, m.unparks.chains, m.unparks.positions, m.unparks.len())
	}
	if m.takes.len() > 0 {
		put := m.undecided(known)
		b.Queue(
			stmtTakes, m.takes.shards, m.takes.ids, m.takes.chains, m.takes.positions, m.takes.len(), put.shards,
			put.ids, put.chains, put.origins,
		)
	}
	if known == guest { // which is one write
		m.queueRoom(b)
	}
	m.queueHolds(b)
	if m.parks.len() > 0 {
		m.parks.queue(b)
	}
	if m.receipts.len() > 0 {
		m.receipts.queue(b)
	}
	m.rows.sort()
	m.lenient.sort()
	if m.rows.len() > 0 {
		m.rows.queue(b, stmtMail).Query(a.put)
	}
	if m.lenient.len() > 0 {
		m.lenient.queue(b, stmtMailLenient, counted).Query(a.put)
	}
	// In the transaction of a guest it would see no more than before.
	if known != guest {
		for _, rows := range []*mailRows{&m.rows, &m.lenient} {
			if rows.len() > 0 {
				k := rows.keys()
				b.Queue(stmtUnanswered, k.shards, k.ids, k.chains, k.origins)
			}
		}
	}
}

// undecided returns the messages to be put that another of the same origin may refuse, also a taken
// one: whether it stands in front of the take was not decided yet.
func (m *mail) undecided(known premise) mailKeys {
	if known == decided {
		return mailKeys{}
	}
	put := slices.Concat(m.rows, m.lenient)
	return put.keys()
}

// queueRoom appends the check that inboxes have room. Received messages have less of it than sent
// ones. All of both counts, so that in a nearly full inbox each write is decided about.
func (m *mail) queueRoom(b *pgx.Batch) {
	var k receiverKeys
	var messages, sizes, most, mostBytes []int64
	add := func(to journal.Receiver, bound tally) {
		of := m.room[to]
		k.add(to)
		messages, sizes = append(
			messages, of.received.messages+of.sent.messages,
		), append(sizes, of.received.bytes+of.sent.bytes)
		most, mostBytes = append(most, bound.messages), append(mostBytes, bound.bytes)
	}
	for _, to := range slices.SortedFunc(maps.Keys(m.room), func(a, b journal.Receiver) int {
		return bytes.Compare(a.ID[:], b.ID[:])
	}) {
		if !m.room[to].bounded {
			continue
		}
		if m.room[to].received.messages > 0 {
			add(to, tally{m.room[to].limit.Messages, m.room[to].limit.Bytes})
		} else {
			add(to, tally{journal.MaxSentInbox, journal.MaxSentInboxBytes})
		}
	}
	if k.len() > 0 {
		b.Queue(stmtRoom, k.shards, k.ids, k.chains, messages, sizes, most, mostBytes)
	}
}

// queueHolds appends the statement that marks messages as delivered.
func (m *mail) queueHolds(b *pgx.Batch) {
	held := slices.SortedFunc(maps.Keys(m.holds), func(a, b place) int {
		return cmp.Or(bytes.Compare(a.to.ID[:], b.to.ID[:]), cmp.Compare(a.position, b.position))
	})
	var rows takeRows
	for _, at := range held {
		rows.add(at.to, at.position)
	}
	if rows.len() > 0 {
		b.Queue(stmtHoldMail, rows.shards, rows.ids, rows.chains, rows.positions, rows.len())
	}
}

// mailRows are messages to be put, each with its receiver.
type mailRows []addressed

type addressed struct {
	to journal.Receiver
	*journal.Message
}

func (r *mailRows) add(to journal.Receiver, m *journal.Message) { *r = append(*r, addressed{to, m}) }

func (r *mailRows) len() int { return len(*r) }

// sort puts them in the order of their receivers, so that batches wait for each other instead of deadlocking; those of
// one receiver keep their order.
func (r *mailRows) sort() {
	slices.SortStableFunc(*r, func(a, b addressed) int { return bytes.Compare(a.to.ID[:], b.to.ID[:]) })
}

type mailKeys struct {
	receiverKeys
	origins [][]byte
}

func (r *mailRows) keys() (k mailKeys) {
	for _, m := range *r {
		k.add(m.to)
		k.origins = append(k.origins, m.Origin[:])
	}
	return k
}

func (r *mailRows) queue(b *pgx.Batch, stmt string, more ...any) *pgx.QueuedQuery {
	k := r.keys()
	var from callers
	var kinds, names []string
	var at, sizes []int64
	var repeatable, held []bool
	var values [][]byte
	for _, m := range *r {
		kinds, names = append(kinds, string(m.Kind)), append(names, m.Name)
		at, sizes = append(at, m.At), append(sizes, int64(m.Bytes))
		repeatable, held = append(repeatable, m.Repeatable), append(held, m.Held)
		values = append(values, m.Value)
		from.add(m.From)
	}
	args := []any{
		k.shards, k.ids, k.chains, k.origins, kinds, names, at, repeatable, held, sizes, from.ids, from.runs,
		from.steps, values,
	}
	return b.Queue(stmt, append(args, more...)...)
}

type takeRows struct {
	receiverKeys
	positions []int64
}

func (r *takeRows) add(to journal.Receiver, position uint64) {
	r.receiverKeys.add(to)
	r.positions = append(r.positions, int64(position))
}

// callers are steps; NULL if there is none.
type callers struct{ ids, runs, steps [][]byte }

func (c *callers) add(step journal.Caller) {
	var id, run, at []byte
	if !step.IsZero() {
		id, run, at = step.ID[:], step.Run[:], step.Step[:]
	}
	c.ids, c.runs, c.steps = append(c.ids, id), append(c.runs, run), append(c.steps, at)
}

// mailOrder looks through writes that may be tried together for writes that decide about others by
// their changes of inboxes.
type mailOrder struct {
	mailed map[mailKey]bool
	// put are the receivers of messages → whether they are lenient. Messages of one receiver are put by one statement,
	// so that they are in the order of the writes.
	put map[journal.Receiver]bool
	// parked are entities whose messages are parked or unparked.
	parked map[journal.ID]bool
}

// follows tells whether a write does not depend on earlier ones.
func (o *mailOrder) follows(w *journal.Write) bool {
	if w.Receive != nil && !(o.names(w.ID, w.Receive.Origin) && o.puts(w.ReceivedBy(), bare(w))) {
		return false
	}
	for i := range w.Send {
		if sent := &w.Send[i]; !(o.names(sent.To, sent.Origin) && o.puts(w.ReceiverOf(sent), true)) {
			return false
		}
	}
	for i := range w.Receipts {
		if !o.names(w.ID, w.Receipts[i].Origin) {
			return false
		}
	}
	if len(w.Park)+len(w.Unpark) > 0 {
		if len(w.Unpark) > 0 && o.parked[w.ID] {
			return false
		}
		if o.parked == nil {
			o.parked = map[journal.ID]bool{}
		}
		o.parked[w.ID] = true
	}
	return true
}

// names notes the origin of a message or receipt; false if it was named before.
func (o *mailOrder) names(id journal.ID, origin journal.Origin) bool {
	key := mailKey{journal.Receiver{ID: id}, origin}
	before := o.mailed[key]
	if o.mailed == nil {
		o.mailed = map[mailKey]bool{}
	}
	o.mailed[key] = true
	return !before
}

// puts notes that a message is put; false if one of the other sort was, or if messages were parked
// there: whether there is room depends on them.
func (o *mailOrder) puts(to journal.Receiver, lenient bool) bool {
	before, put := o.put[to]
	if o.put == nil {
		o.put = map[journal.Receiver]bool{}
	}
	o.put[to] = lenient
	return (!put || before == lenient) && !(to.Chain.IsZero() && o.parked[to.ID])
}
