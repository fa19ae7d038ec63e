package storetest

import (
	"bytes"
	"maps"
	"math"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

// modelTypes and their keys are the entities of the model.
var modelTypes = []string{"bank/Account", "bank/Teller", "shop/Cart"}

func modelEntities() (entities []journal.Entity) {
	for _, entityType := range modelTypes {
		for _, key := range []string{"1", "ž"} {
			entities = append(entities, newEntity(entityType, key))
		}
	}
	return entities
}

// modelReceivers are all that have an inbox.
func modelReceivers() (ids []journal.ID) {
	for _, key := range modelKeys {
		ids = append(ids, modelExecution(key).ID)
	}
	for _, e := range modelEntities() {
		ids = append(ids, e.ID)
	}
	return ids
}

// waiting is a message in an inbox of both stores.
type waiting struct {
	position   uint64 // in the store
	origin     journal.Origin
	repeatable bool
}

// repeated is how many origins there are that come again and again.
const repeated = 6

// drawMessage draws a message. A repeatable one has an origin of a few and leaves a receipt when it
// is taken; others are never sent again.
func (m *model) drawMessage(rt *rapid.T) journal.Message {
	n := rapid.IntRange(0, repeated).Draw(rt, "origin")
	again := n > 0
	if !again {
		m.sent++
		n = repeated + m.sent
	}
	message := *newMessage(n)
	message.Name = rapid.SampledFrom([]string{"paid", "ž", ""}).Draw(rt, "name")
	message.Kind = rapid.SampledFrom([]journal.MessageKind{
		journal.SignalMessage, journal.CallMessage, journal.AwaitMessage,
	}).Draw(rt, "kind")
	message.Value, message.Repeatable, message.From = drawBytes(rt), again, m.drawSender(rt)
	message.Bytes = len(message.Value)
	return message
}

func (m *model) drawSender(rt *rapid.T) (from journal.Caller) {
	if rapid.Bool().Draw(rt, "from a step") {
		from = callerOf(modelExecution(drawKey(rt)).ID, 1)
		from.Run = m.runOf(from.ID)
		if rapid.IntRange(0, 4).Draw(rt, "of another run") == 0 {
			from.Run[0] ^= 1
		}
	}
	return from
}

// drawMail adds changes of inboxes to a write.
func (m *model) drawMail(rt *rapid.T, w *journal.Write) {
	parts := rapid.IntRange(0, 31).Draw(rt, "mail")
	if parts&1 != 0 {
		message := m.drawMessage(rt)
		if !w.OfEntity() && rapid.IntRange(0, 3).Draw(rt, "stop") == 0 {
			message.Kind, message.From = journal.InterruptMessage, journal.Caller{} // it comes from outside
		}
		w.Receive = &message
	}
	if parts&2 != 0 {
		for _, there := range m.inboxes[w.ID] {
			if rapid.Bool().Draw(rt, "take") {
				w.Take = append(w.Take, there.position)
				if there.repeatable || rapid.Bool().Draw(rt, "receipt") {
					w.Receipts = append(w.Receipts, journal.Receipt{Origin: there.origin, At: 3})
				}
			}
		}
		if rapid.IntRange(0, 9).Draw(rt, "not there") == 0 {
			// no batch comes to those
			w.Take = append(w.Take, rapid.SampledFrom([]uint64{1 << 40, math.MaxInt64}).Draw(rt, "position"))
		}
	}
	if parts&4 != 0 && rapid.Bool().Draw(rt, "answered at once") {
		r := journal.Receipt{
			Origin: originOf(rapid.IntRange(1, repeated+3).Draw(rt, "origin")),
			Value:  drawBytes(rt),
			Error:  drawError(rt),
		}
		w.Receipts = append(w.Receipts, r)
	}
	for i := range w.Receipts {
		w.Receipts[i].From, w.Receipts[i].At = m.drawSender(rt), rapid.Int64Range(-2, 5).Draw(rt, "at")
	}
	if parts&16 != 0 {
		for _, there := range m.inboxes[w.ID] {
			if rapid.Bool().Draw(rt, "hold") {
				w.Hold = append(w.Hold, there.position)
			}
		}
	}
	if w.OfEntity() {
		m.drawParked(rt, w)
	}
	if parts&8 != 0 {
		for range rapid.IntRange(1, 3).Draw(rt, "sent") {
			w.Send = append(w.Send, m.drawSent(rt))
		}
	}
}

// drawSent draws a message to an entity, or a result or a request to stop for an execution, which may be another run by
// now or not be there.
func (m *model) drawSent(rt *rapid.T) journal.Sent {
	sent := journal.Sent{Message: m.drawMessage(rt)}
	if rapid.IntRange(0, 2).Draw(rt, "result") > 0 {
		sent.To = rapid.SampledFrom(modelEntities()).Draw(rt, "to").ID
		return sent
	}
	sent.To, sent.Repeatable, sent.From = modelExecution(drawKey(rt)).ID, false, callerOf(
		modelExecution(drawKey(rt)).ID, 1,
	)
	sent.Kind = rapid.SampledFrom([]journal.MessageKind{journal.ResultMessage, journal.TerminateMessage}).Draw(
		rt, "sent",
	)
	run := m.runOf(sent.To)
	sent.Chain = m.chainOf(sent.To, run)
	if rapid.IntRange(0, 4).Draw(rt, "another chain") == 0 {
		sent.Chain[0] ^= 1
	}
	return sent
}

// drawParked adds messages that a write of an entity parks, and puts back.
func (m *model) drawParked(rt *rapid.T, w *journal.Write) {
	parts := rapid.IntRange(0, 7).Draw(rt, "parked")
	e := modelEntities()[slices.IndexFunc(modelEntities(), func(e journal.Entity) bool { return e.ID == w.ID })]
	if parts&1 != 0 {
		for _, there := range m.inboxes[w.ID] {
			if rapid.Bool().Draw(rt, "park") &&
				(rapid.IntRange(0, 9).Draw(rt, "also taken") == 0 || !slices.Contains(w.Take, there.position)) {
				p := parkedAt(e, there.position)
				p.At, p.Attempts = rapid.Int64Range(-2, 5).Draw(rt, "at"), rapid.IntRange(0, 3).Draw(rt, "attempts")
				w.Park = append(w.Park, p)
			}
		}
	}
	if parts&2 != 0 {
		for _, position := range m.parked[w.ID] {
			if rapid.Bool().Draw(rt, "unpark") {
				w.Unpark = append(w.Unpark, position)
				if rapid.Bool().Draw(rt, "drop") {
					w.Take = append(w.Take, position)
				}
			}
		}
	}
	if parts == 7 && rapid.IntRange(0, 3).Draw(rt, "not there") == 0 {
		w.Unpark = append(w.Unpark, 1<<40)
	}
}

// drawEntityWrite draws a write of an entity.
func (m *model) drawEntityWrite(rt *rapid.T) journal.Write {
	e := rapid.SampledFrom(modelEntities()).Draw(rt, "entity")
	w := journal.Write{ID: e.ID, Fence: m.fences[e.ID.Shard()]}
	if rapid.IntRange(0, 9).Draw(rt, "stale") == 0 {
		w.Fence.Epoch--
	}
	switch rapid.IntRange(0, 4).Draw(rt, "lock") {
	case 0:
		w.Unlock = true
	case 1, 2:
		w.Lock = m.drawLock(rt, &e)
	}
	switch rapid.IntRange(0, 4).Draw(rt, "row") {
	case 0:
		w.Destroy = true
	case 1, 2, 3:
		e.State, e.Version = drawBytes(rt), rapid.Uint32Range(0, 3).Draw(rt, "version")
		e.UpdatedAt = rapid.Int64Range(1, 9).Draw(rt, "updated")
		w.Entity = &e
	}
	return w
}

// commitMail commits a batch of writes that receive, take and send.
func (m *model) commitMail(rt *rapid.T) {
	writes := make([]journal.Write, rapid.IntRange(1, 5).Draw(rt, "writes"))
	for i := range writes {
		if w := &writes[i]; rapid.Bool().Draw(rt, "entity") {
			*w = m.drawEntityWrite(rt)
		} else {
			*w = m.drawWrite(rt)
			if rapid.IntRange(0, 2).Draw(rt, "bare") > 0 {
				*w = journal.Write{ID: w.ID, Run: w.Run, Chain: m.chainOf(w.ID, w.Run), Fence: w.Fence}
			}
		}
		m.drawMail(rt, &writes[i])
	}
	m.commitWrites(rt, writes)
}

// ofOracle names messages as the oracle does.
func (m *model) ofOracle(positions []uint64) []uint64 {
	positions = slices.Clone(positions)
	for i, position := range positions {
		positions[i] = math.MaxInt64 // no message's
		if known, ok := m.positions[position]; ok {
			positions[i] = known
		}
	}
	return positions
}

// compareMail compares the inboxes and entities of the two stores. Positions are each store's own:
// they must order the messages alike. Receivers are compared that changed according to the oracle,
// and some of the others in turn: to read all of each time took most of a check. At its end, all
// are compared.
func (m *model) compareMail(rt *rapid.T) {
	const turns = 4
	m.compares++
	for n, id := range modelReceivers() {
		to := receiverOf(m.ctx, m.oracle, id)
		if m.isNews(question{to: to, all: true}, m.mailOf(rt, to)) || (m.compares+n)%turns == 0 {
			m.mail[id] = m.compareReceiver(rt, to)
			m.compareReceipts(rt, id)
			m.compareLocked(rt, id)
		}
		m.compareSettlements(rt, id)
		for _, origin := range modelOrigins() {
			m.compareFound(rt, to, origin)
		}
	}
	m.inboxes = maps.Clone(m.mail)
	m.compareParked(rt)
}

// compareSettlements compares where the settled deferreds of an execution stand, if there are others than before. No
// one takes them.
func (m *model) compareSettlements(rt *rapid.T, id journal.ID) {
	row, err := m.oracle.Load(m.ctx, id)
	if err != nil {
		return
	}
	settled, err := m.oracle.Inbox(m.ctx, row.Settlements(), 0)
	require.NoError(rt, err)
	if m.isNews(question{to: row.Settlements(), all: true}, settled) {
		m.compareReceiver(rt, row.Settlements())
	}
}

// mailOf is all that the oracle holds of a receiver, but for its parked messages.
func (m *model) mailOf(rt *rapid.T, to journal.Receiver) any {
	messages, _, err := m.oracle.Messages(m.ctx, to, 0, journal.PageLimit{Entries: 10_000})
	require.NoError(rt, err)
	receipts, err := m.oracle.Receipts(m.ctx, to.ID, modelOrigins())
	require.NoError(rt, err)
	slices.SortFunc(receipts, func(a, b journal.Receipt) int { return bytes.Compare(a.Origin[:], b.Origin[:]) })
	entity, lock, err := m.oracle.LockedEntity(m.ctx, to.ID)
	return []any{messages, receipts, entity, lock, err}
}

// compareReceiver compares an inbox, and returns it.
func (m *model) compareReceiver(rt *rapid.T, to journal.Receiver) (inbox []waiting) {
	read := map[journal.Store][]journal.Envelope{}
	same(rt, "inbox", func(s journal.Store) (messages []journal.Message, err error) {
		messages, _, err = s.Messages(m.ctx, to, 0, journal.PageLimit{Entries: 10_000})
		for i := range messages {
			read[s] = append(read[s], messages[i].Envelope)
			messages[i].Position = 0
		}
		return messages, err
	}, m.store, m.oracle)
	if m.isNews(question{to: to}, read[m.oracle]) {
		envelopes, err := m.store.Inbox(m.ctx, to, 0)
		require.NoError(rt, err)
		require.Equal(rt, read[m.store], slices.Concat(nil, envelopes))
	}
	for i, e := range read[m.store] {
		if known, ok := m.positions[e.Position]; ok {
			require.Equal(rt, known, read[m.oracle][i].Position, "a message stays where it is")
		}
		m.positions[e.Position] = read[m.oracle][i].Position
		inbox = append(inbox, waiting{e.Position, e.Origin, e.Repeatable})
	}
	return inbox
}

// compareParked compares the parked messages of all entities.
func (m *model) compareParked(rt *rapid.T) {
	positions := map[journal.Store][]uint64{}
	m.parked = map[journal.ID][]uint64{}
	same(rt, "parked", func(s journal.Store) ([]journal.ParkedMessage, error) {
		found, err := s.Parked(m.ctx, journal.ParkedFilter{Limit: 1000})
		for i := range found {
			positions[s] = append(positions[s], found[i].Position)
			if s == m.store {
				m.parked[found[i].Entity] = append(m.parked[found[i].Entity], found[i].Position)
			}
			found[i].Position, found[i].Message.Position = 0, 0
		}
		return slices.Concat(nil, found), err
	}, m.store, m.oracle)
	for i, position := range positions[m.store] {
		require.Equal(rt, m.positions[position], positions[m.oracle][i], "a parked message stays where it is")
	}
}

// listParked compares pages of all parked messages.
func (m *model) listParked(rt *rapid.T) {
	f := journal.ParkedFilter{
		Namespace: rapid.SampledFrom([]string{"", "default", "other"}).Draw(rt, "namespace"),
		Type:      rapid.SampledFrom(append([]string{"", "bank/", "shop/"}, modelTypes...)).Draw(rt, "type"),
		Limit:     rapid.IntRange(1, 3).Draw(rt, "limit"),
	}
	if rapid.Bool().Draw(rt, "paged") {
		after := rapid.SampledFrom(modelEntities()).Draw(rt, "after")
		f.After = &journal.Parked{Namespace: after.Namespace, Type: after.Type, Key: after.Key, Position: math.MaxInt64}
	}
	same(rt, "parked", func(s journal.Store) ([]journal.ParkedMessage, error) {
		found, err := s.Parked(m.ctx, f)
		for i := range found {
			found[i].Position, found[i].Message.Position = 0, 0
		}
		return slices.Concat(nil, found), err
	}, m.store, m.oracle)
}

func (m *model) sweepReceipts(rt *rapid.T) {
	before, limit := rapid.Int64Range(-2, 7).Draw(rt, "before"), drawSweepLimit(rt)
	same(
		rt, "sweep receipts",
		func(s journal.Store) (int, error) { return s.SweepReceipts(m.ctx, m.fencesOf(s), before, limit) }, m.store,
		m.oracle,
	)
	m.compareMail(rt)
}

func (m *model) receivers(rt *rapid.T) {
	after, limit := rapid.SampledFrom(append(modelReceivers(), journal.ID{})).Draw(
		rt, "after",
	), rapid.IntRange(0, 5).Draw(rt, "limit")
	same(rt, "receivers", func(s journal.Store) ([]journal.ID, error) {
		ids, err := s.Receivers(m.ctx, after, limit)
		return slices.Concat(nil, ids), err
	}, m.store, m.oracle)
	same(rt, "receivers of results", func(s journal.Store) ([]journal.ID, error) {
		ids, err := s.MailReceivers(m.ctx, after, limit)
		return slices.Concat(nil, ids), err
	}, m.store, m.oracle)
}

func (m *model) listEntities(rt *rapid.T) {
	f := journal.EntityFilter{
		Namespace: rapid.SampledFrom([]string{"", "default", "other"}).Draw(rt, "namespace"),
		Type:      rapid.SampledFrom(append([]string{"", "bank/", "shop/"}, modelTypes...)).Draw(rt, "type"),
		Limit:     rapid.IntRange(1, 3).Draw(rt, "limit"),
	}
	if rapid.Bool().Draw(rt, "paged") {
		after := rapid.SampledFrom(modelEntities()).Draw(rt, "after")
		f.After = &after
	}
	same(rt, "entities", func(s journal.Store) ([]journal.Entity, error) {
		entities, err := s.ListEntities(m.ctx, f)
		return slices.Concat(nil, entities), err
	}, m.store, m.oracle)
}
