package storetest

import (
	"bytes"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

// facts are a store's statements about itself. No oracle knows them; they never change.
type facts struct {
	dialect       string
	guestsAlone   bool
	commitsAtOnce int
}

func factsOf(s journal.Store) facts { return facts{s.Dialect(), s.GuestsAlone(), s.CommitsAtOnce()} }

func (m *model) compareFacts(rt *rapid.T) {
	require.Equal(rt, m.facts, factsOf(m.store))
	require.Positive(rt, m.facts.commitsAtOnce)
}

func (m *model) ping(rt *rapid.T) {
	same(rt, "ping", func(s journal.Store) (any, error) { return nil, s.Ping(m.ctx) }, m.store, m.oracle)
	m.compareFacts(rt)
}

// modelOrigins are the origins of messages that come again, and some that never came or come once.
func modelOrigins() (origins []journal.Origin) {
	for n := range repeated + 4 {
		origins = append(origins, originOf(n))
	}
	return origins
}

// compareReceipts compares the receipts that a receiver has of several messages: they are read together, in no order.
func (m *model) compareReceipts(rt *rapid.T, id journal.ID) {
	same(rt, "receipts", func(s journal.Store) ([]journal.Receipt, error) {
		found, err := s.Receipts(m.ctx, id, modelOrigins())
		slices.SortFunc(found, func(a, b journal.Receipt) int { return bytes.Compare(a.Origin[:], b.Origin[:]) })
		return slices.Concat(nil, found), err
	}, m.store, m.oracle)
}

// compareFound compares where the message of an origin is.
func (m *model) compareFound(rt *rapid.T, to journal.Receiver, origin journal.Origin) {
	want, _ := m.oracle.FindMessage(m.ctx, to, origin)
	if !m.isNews(question{to: to, origin: origin}, want) {
		return
	}
	same(rt, "find message", func(s journal.Store) (*journal.FoundMessage, error) {
		found, err := s.FindMessage(m.ctx, to, origin)
		if found != nil {
			found.Position = 0
		}
		return found, err
	}, m.store, m.oracle)
}

// compareLocked compares an entity and its lock as of one moment.
func (m *model) compareLocked(rt *rapid.T, id journal.ID) {
	type locked struct {
		entity *journal.Entity
		lock   *journal.Lock
	}
	same(rt, "locked entity", func(s journal.Store) (l locked, err error) {
		l.entity, l.lock, err = s.LockedEntity(m.ctx, id)
		return l, err
	}, m.store, m.oracle)
}

// readReceiver reads one by one the rows that are read together elsewhere: the messages of a
// receiver, its receipts, its row and its lock; and, without others', its parked messages.
func (m *model) readReceiver(rt *rapid.T) {
	id := rapid.SampledFrom(modelReceivers()).Draw(rt, "receiver")
	positions := slices.Concat([]uint64{1 << 40}, m.parked[id])
	for _, there := range m.inboxes[id] {
		positions = append(positions, there.position)
	}
	for _, position := range positions {
		same(rt, "message", func(s journal.Store) (*journal.Message, error) {
			at := position
			if s == m.oracle {
				at = m.ofOracle([]uint64{position})[0]
			}
			message, err := s.Message(m.ctx, receiverOf(m.ctx, m.oracle, id), at)
			if message != nil {
				message.Position = 0
			}
			return message, err
		}, m.store, m.oracle)
	}
	same(rt, "parked", func(s journal.Store) (positions []uint64, err error) {
		found, err := s.Parked(m.ctx, journal.ParkedFilter{Entity: id, Limit: 1000})
		for i := range found {
			positions = append(positions, found[i].Position)
		}
		if s == m.store {
			positions = m.ofOracle(positions)
		}
		return slices.Concat(nil, positions), err
	}, m.store, m.oracle)
	for _, origin := range modelOrigins() {
		same(
			rt, "receipt", func(s journal.Store) (*journal.Receipt, error) { return s.Receipt(m.ctx, id, origin) },
			m.store, m.oracle,
		)
	}
	same(rt, "lock", func(s journal.Store) (*journal.Lock, error) { return s.Lock(m.ctx, id) }, m.store, m.oracle)
	same(rt, "entity", func(s journal.Store) (*journal.Entity, error) { return s.Entity(m.ctx, id) }, m.store, m.oracle)
}

// outlines compares the published values of several chains, one of them asked for twice: chains of
// existing executions, as the rows of others may not be purged yet, and one of an execution that
// never was.
func (m *model) outlines(rt *rapid.T) {
	chains := []journal.RunKey{{Run: journal.RunID{99}}}
	for _, key := range append(slices.Clone(modelKeys), drawKey(rt)) {
		row, err := m.oracle.Load(m.ctx, modelExecution(key).ID)
		if err == nil && rapid.IntRange(0, 3).Draw(rt, "asked") > 0 {
			chains = append(chains, row.ChainKey())
		}
	}
	same(rt, "outlines", func(s journal.Store) (map[journal.RunKey]*journal.Published, error) {
		found, err := s.Outlines(m.ctx, chains)
		if len(found) == 0 {
			found = nil
		}
		return found, err
	}, m.store, m.oracle)
}

// compareDigests compares the digests of modules.
func (m *model) compareDigests(rt *rapid.T) {
	prefix := rapid.SampledFrom([]string{"", "sha256:", "sha256:1", "sha256:guest", "sha256_", "%", "t"}).Draw(
		rt, "prefix",
	)
	limit := rapid.IntRange(0, 4).Draw(rt, "digests")
	same(rt, "digests", func(s journal.Store) ([]string, error) {
		found, err := s.Digests(m.ctx, prefix, limit)
		return slices.Concat(nil, found), err
	}, m.store, m.oracle)
}
