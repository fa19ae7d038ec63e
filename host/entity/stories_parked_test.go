package entity

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// section is a workflow that locks an entity, or has it locked, and calls it.
type section struct {
	*workflow
	name string
	mu   sync.Mutex
	over bool // guarded by mu
}

func (s *section) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// lockEntity has a workflow lock an entity, and call it twice once it has it.
func (w *storyWorld) lockEntity(key string) {
	if w.holders[key] != nil {
		return
	}
	s := &section{workflow: w.newWorkflow(journal.NewRunID().String())}
	s.name = "section " + s.step.ID.String()
	w.holders[key] = s
	w.clients.Go(func() {
		for !w.acquire(s, key) {
			if s.isOver() {
				return
			}
			time.Sleep(500 * time.Millisecond)
		}
		for n := range 2 {
			r := clientRequest{to: key, call: true, again: true, note: note{From: s.name, N: n}}
			req := s.asks(call.Request{Entity: storyRef(key), Operation: "note", Input: abi.MustMarshal(r.note)})
			for w.request(r, req) == nothing && !s.isOver() {
				time.Sleep(500 * time.Millisecond)
				req.Again = true
			}
		}
	})
}

// acquire tries to lock an entity.
func (w *storyWorld) acquire(s *section, key string) bool {
	err := w.attempt(func(ctx context.Context, x *Entities) error {
		return x.Caller.Lock(ctx, s.step, call.Patience{}, storyRef(key))
	})
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.holds[key] = s.name
	w.locked++
	return true
}

// unlockEntity ends the section that locks an entity.
func (w *storyWorld) unlockEntity(key string) {
	s := w.holders[key]
	if s == nil {
		return
	}
	delete(w.holders, key)
	s.mu.Lock()
	s.over = true
	w.lock.Lock()
	delete(w.holds, key)
	w.lock.Unlock()
	s.mu.Unlock()
	s.end()
}

// notedStore knows the note of each message: a parked one does not show its payload.
type notedStore struct {
	journal.Store
	mu    sync.Mutex
	notes map[journal.Origin]string // guarded by mu; ids of notes
}

func (s *notedStore) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	for i := range writes {
		if m := writes[i].Receive; m != nil {
			s.note(m)
		}
		for j := range writes[i].Send {
			s.note(&writes[i].Send[j].Message)
		}
	}
	return s.Store.Commit(ctx, writes)
}

func (s *notedStore) note(m *journal.Message) {
	var p call.Parcel
	var n note
	if abi.Unmarshal(m.Value, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Kind == journal.StartMessage:
		s.notes[m.Origin] = startOf(p.Call.Key)
	case m.Kind == journal.CallMessage && abi.Unmarshal(p.Input, &n) == nil:
		s.notes[m.Origin] = n.id()
	}
}

func (s *notedStore) noteOf(m *journal.Envelope) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.notes[m.Origin], string(m.Kind))
}

// waiting are the notes that messages in the inbox of an entity bring.
func (w *storyWorld) waiting(key string) (ids []string) {
	found, err := w.store.Inbox(context.Background(), journal.Receiver{ID: storyRef(key).ID()}, 0)
	require.NoError(w.t, err)
	for i := range found {
		ids = append(ids, w.noted.noteOf(&found[i]))
	}
	return ids
}

// parkedNotes returns the notes of an entity's parked messages, by position.
func (w *storyWorld) parkedNotes(key string) map[uint64]string {
	found, err := w.store.Parked(context.Background(), journal.ParkedFilter{
		Entity: storyRef(key).ID(), Limit: journal.MaxParked,
	})
	require.NoError(w.t, err)
	ids := map[uint64]string{}
	for i := range found {
		ids[found[i].Position] = w.noted.noteOf(&found[i].Message)
	}
	return ids
}

// unpark has an operator put parked messages of an entity back, or drop them: all, or some.
func (w *storyWorld) unpark(key string, drop, all bool) {
	parked := w.parkedNotes(key)
	var positions []uint64
	for position := range parked {
		if all || position%2 == 0 {
			positions = append(positions, position)
		}
	}
	if len(positions) == 0 {
		return
	}
	w.lock.Lock()
	for _, position := range positions {
		id := parked[position]
		switch _, is := w.dropped[id]; {
		case !drop:
			w.late[id] = true
		case !is:
			w.dropped[id] = false // it may be
		}
	}
	w.lock.Unlock()
	err := w.attempt(func(ctx context.Context, x *Entities) (err error) {
		if drop {
			_, err = x.Parked.Drop(ctx, storyRef(key), positions)
		} else {
			_, err = x.Parked.Retry(ctx, storyRef(key), positions)
		}
		return err
	})
	if err != nil {
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, position := range positions {
		if drop {
			w.dropped[parked[position]] = true
			w.drops++
		} else {
			w.retried++
		}
	}
}
