package rebuild

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// Bounds of states that the host has in its hands at the same time. They are large, and not part of
// the budget: they are needed when memory is short. A state that finds no place is not saved; a
// guest that is to be restored waits.
const (
	maxSaving    = 8
	maxRestoring = 8
)

// Store is the part of the store that replays read.
type Store interface {
	journal.EntryReader
	Hibernated(ctx context.Context, run journal.RunKey) (*journal.Hibernated, error)
}

// Committer makes one write durable, fenced by the epoch of its shard.
type Committer interface {
	Commit(w journal.Write) (journal.Result, error)
}

// Deps are the dependencies of [States].
type Deps struct {
	Committer Committer
	// CompareRestored, if set, is handed the state of every restored guest, and the state of the
	// same guest replayed. It is for tests.
	CompareRestored func(restored, replayed *guest.Saved)
	// Delivering is the budget of large values on their way from the store to a guest: see package largevalue.
	Delivering *budget.Budget
	// EvictAlways says that instances are dropped after every turn. It is for tests.
	EvictAlways bool
	Fault       faultpoint.Injector
	// Group has the goroutines that save states.
	Group *actor.TaskGroup
	// Hibernation decides when the states of guests are saved.
	Hibernation hibernation.Policy
	Host        *hoststate.State
	Registerer  prometheus.Registerer
	Store       Store
}

// States saves the states of guests, and has what their replays share.
type States struct {
	Deps
	codec           hibernation.Codec
	saving          *semaphore.Weighted // states that are being saved
	restoring       *semaphore.Weighted // states that guests are being made of
	hibernated      *prometheus.CounterVec
	hibernatedBytes prometheus.Counter
	replays         prometheus.Counter
	restored        *prometheus.CounterVec
}

// NewStates returns states, none of them being saved.
func NewStates(deps Deps) *States {
	reg := deps.Registerer
	return &States{
		Deps:      deps,
		saving:    semaphore.NewWeighted(maxSaving),
		restoring: semaphore.NewWeighted(maxRestoring),
		hibernated: metric.Counters(
			reg, "hibernations_total", "States of guests that were to be saved, by what came of it.", "result",
		),
		hibernatedBytes: metric.Counter(reg, "hibernated_bytes_total", "Bytes of the states that were saved."),
		replays:         metric.Counter(reg, "replays_total", "Journals replayed."),
		restored: metric.Counters(
			reg, "restores_total", "Guests that were to be made from a saved state, by what came of it.", "result",
		),
	}
}

// Saving is a state that is about to be saved. It has all but the guest's part, and the ops not encoded yet: that
// is done without a lock.
type Saving struct {
	id      journal.ID
	chain   journal.RunID
	state   *hibernation.State
	pending []op.Op // copies; their bodies do not change
}

// Save adds the guest's part and has the state committed, beside all else. Nothing waits for it, and nothing is lost if
// it fails.
func (s *States) Save(h *Saving, g instance.Guest) {
	if h == nil {
		return
	}
	if !s.saving.TryAcquire(1) {
		s.hibernated.WithLabelValues("too many").Inc()
		return
	}
	encoded := false
	defer func() {
		if !encoded { // also after a panic
			s.saving.Release(1)
		}
	}()
	body, err := s.encode(h, g)
	if err != nil {
		s.hibernated.WithLabelValues("not possible").Inc()
		return
	}
	encoded = true
	commit := func() {
		defer s.saving.Release(1)
		w := journal.Write{
			ID: h.id, Run: h.state.Run, Chain: h.chain, Hibernate: &journal.Hibernated{Seq: h.state.Seq, Body: body},
		}
		if _, err := s.Committer.Commit(w); err != nil {
			s.hibernated.WithLabelValues("failed").Inc()
			return
		}
		s.hibernated.WithLabelValues("saved").Inc()
		s.hibernatedBytes.Add(float64(len(body)))
	}
	if s.EvictAlways {
		commit() // so that the next turn finds it
	} else if !s.Group.Go(commit) {
		s.saving.Release(1)
	}
}

func (s *States) encode(h *Saving, g instance.Guest) (_ []byte, err error) {
	if h.state.Guest, err = g.Save(); err != nil {
		return nil, err
	}
	for i := range h.pending {
		p, err := hibernation.PendingOf(&h.pending[i])
		if err != nil {
			return nil, err
		}
		h.state.Pending = append(h.state.Pending, p)
	}
	return s.codec.Encode(h.state)
}

// SavingOf returns the state of an idle run to save besides its guest; nil if that is not worth it, or if the run is in
// the middle of something: outcomes that are not journaled, numbers that are reserved, steps that are held after a
// move. The caller has the run to itself.
func SavingOf(
	row *journal.Execution, in *instance.Instance, of *sharedledger.Ledger, worth func(seq, saved uint64) bool,
) (h *Saving) {
	of.With(func(l *ledger.Ledger) {
		at := l.Position()
		if !worth(at.Seq, in.SavedSeq) || at.Seq < row.MovedAt {
			return
		}
		section, pending, atRest := l.AtRest()
		if !atRest {
			return
		}
		s := &hibernation.State{
			Run: row.Run, Digest: row.Digest, Seq: at.Seq, Turn: at.Turn, At: at.At, Section: section,
		}
		h = &Saving{id: row.ID, chain: row.Chain, state: s, pending: pending}
		in.SavedSeq = at.Seq // if that fails, it is tried again after further entries
	})
	return h
}
