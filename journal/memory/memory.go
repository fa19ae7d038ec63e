package memory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Store is a journal.Store in memory.
type Store struct {
	mu         sync.Mutex
	closed     bool                                 // guarded by mu, like all below
	fences     [journal.NumShards]journal.Fence     //
	executions map[journal.ID]*execution            // the current runs
	superseded map[journal.ID][]*execution          // oldest first
	entities   map[journal.ID]journal.Entity        //
	boxes      map[journal.Receiver]*box            //
	receipts   map[receiptKey]journal.Receipt       //
	position   uint64                               // of the message that was sent last
	modules    map[string]journal.Module            // by digest
	deployed   map[deploymentKey]journal.Deployment //
	migrated   map[migrationKey]string              // checksum
	schedules  map[journal.ID]journal.Schedule      //
	locks      map[journal.ID]journal.Lock          // by entity
	gone       map[journal.RunKey]bool              // runs that were deleted or continued, until Purge
	holds      map[journal.RunKey]bool              // runs that kept a sweep from something, until one finds them over
}

type deploymentKey struct{ namespace, name string }

type migrationKey struct {
	namespace, deployment string
	version               int64
}

var _ journal.Store = (*Store)(nil)

var errClosed = errors.New("memory: the store is closed")

// New makes an empty store.
func New() *Store {
	return &Store{
		executions: map[journal.ID]*execution{},
		entities:   map[journal.ID]journal.Entity{},
		superseded: map[journal.ID][]*execution{},
		boxes:      map[journal.Receiver]*box{},
		receipts:   map[receiptKey]journal.Receipt{},
		modules:    map[string]journal.Module{},
		deployed:   map[deploymentKey]journal.Deployment{},
		migrated:   map[migrationKey]string{},
		schedules:  map[journal.ID]journal.Schedule{},
		locks:      map[journal.ID]journal.Lock{},
		gone:       map[journal.RunKey]bool{},
		holds:      map[journal.RunKey]bool{},
	}
}

// CommitsAtOnce implements journal.Store.
func (s *Store) CommitsAtOnce() int { return 1 }

// Dialect is the embedded store's dialect: the oracle stands in for it.
func (s *Store) Dialect() string { return abi.DialectSQLite }

// GuestsAlone is the embedded store's answer, too.
func (s *Store) GuestsAlone() bool { return true }

// enter takes the lock if the store can be used; the caller calls leave.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	return s.mu.Unlock, nil
}

// ClaimShards implements journal.Store.
func (s *Store) ClaimShards(ctx context.Context, _ string) ([]journal.Fence, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	token := journal.NewToken()
	for i := range s.fences {
		s.fences[i].Epoch++
		s.fences[i].Token = token
	}
	return slices.Clone(s.fences[:]), nil
}

// Commit implements journal.Store.
func (s *Store) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	results := make([]journal.Result, len(writes))
	for i := range writes {
		results[i] = s.applyLocked(&writes[i])
	}
	return results, nil
}

// applyLocked works on a copy of the execution and puts it in place at the end: a write that fails half-way leaves
// nothing.
func (s *Store) applyLocked(w *journal.Write) journal.Result {
	if err := w.Check(); err != nil {
		return journal.Result{Err: err}
	}
	if w.Fence != s.fences[w.ID.Shard()] {
		return journal.Result{Err: journal.ErrFenced}
	}
	if w.OfEntity() {
		return s.applyToEntityLocked(w)
	}
	over := false
	before, exists := s.executions[w.ID]
	if w.Start != nil {
		if exists && !replaces(w, &before.row) {
			return journal.Result{Existed: true}
		}
		if key := w.Start.RunKey(); s.gone[key] || s.runLocked(key) != nil {
			return journal.Result{Err: journal.ErrSwept}
		}
		before = begun(*w.Start)
	} else if !exists || before.row.Run != w.Run || before.row.Chain != w.Receiver().Chain ||
		len(w.Entries) > 0 && before.row.State.Final() {
		return journal.Result{Err: journal.ErrNotFound}
	} else {
		over = before.row.State.Final()
	}
	after := before.clone()
	if res := s.linkLocked(after, w.Link); res != (journal.Result{}) {
		return res
	}
	boxes, position, res := s.boxesLocked(w)
	if w.Receive != nil && over && !res.Existed {
		return journal.Result{Err: journal.ErrNotFound}
	}
	if res != (journal.Result{}) {
		return res
	}
	for _, e := range w.Entries {
		if _, taken := after.entries[e.Seq]; taken {
			return journal.Result{Err: fmt.Errorf("memory: execution %s has an entry %d already", w.ID, e.Seq)}
		}
		after.entries[e.Seq] = abi.MustMarshal(e)
	}
	after.update(w)
	if w.Continue != nil {
		s.gone[after.row.RunKey()] = true
		delete(s.boxes, after.row.Settlements())
		after = continued(after, w.Continue)
		boxes[w.Receiver()].release()
	}
	if exists && w.Start != nil {
		s.supersedeLocked(w.ID)
	}
	s.executions[w.ID] = after
	return s.deliverLocked(w, boxes, position)
}

// linkLocked writes down the callee of a step.
func (s *Store) linkLocked(e *execution, l *journal.Link) journal.Result {
	if l == nil {
		return journal.Result{}
	}
	if _, linked := e.links[l.Step]; linked {
		return journal.Result{Existed: true}
	}
	if callee := s.executions[l.Callee]; callee == nil || callee.row.Chain != l.Chain {
		return journal.Result{Err: journal.ErrSwept}
	}
	e.links[l.Step] = *l
	return journal.Result{}
}

// deliverLocked puts the boxes that a Write changes in place.
func (s *Store) deliverLocked(w *journal.Write, after map[journal.Receiver]*box, position uint64) (res journal.Result) {
	if w.Receive != nil {
		res.Position = s.position + 1
	}
	maps.Copy(s.boxes, after)
	for _, r := range w.Receipts {
		s.receipts[receiptKey{w.ID, r.Origin}] = cloneReceipt(r)
	}
	s.position = position
	return res
}

// Deploy implements journal.Store. Migrations are recorded, not run.
func (s *Store) Deploy(
	ctx context.Context, f journal.Fence, m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return journal.Deployment{}, err
	}
	defer leave()
	if f != s.fences[d.Shard()] {
		return journal.Deployment{}, journal.ErrFenced
	}
	migrated := maps.Clone(s.migrated)
	seen := map[int64]bool{}
	for _, step := range migrations {
		if step.Dialect != abi.DialectAny && step.Dialect != s.Dialect() {
			continue
		}
		if seen[step.Version] {
			return journal.Deployment{}, abi.Errorf(
				abi.CodeMigrationFailed, "migration %d of deployment %q is there twice", step.Version, d.Name,
			)
		}
		seen[step.Version] = true
		sum := sha256.Sum256([]byte(step.SQL))
		checksum, key := hex.EncodeToString(sum[:]), migrationKey{d.Namespace, d.Name, step.Version}
		if old, ok := migrated[key]; ok && old != checksum {
			return journal.Deployment{}, abi.Errorf(
				abi.CodeMigrationFailed, "migration %d of deployment %q was applied before with another text",
				step.Version, d.Name,
			)
		}
		migrated[key] = checksum
	}
	s.migrated = migrated
	if old, ok := s.modules[m.Digest]; !ok || !bytes.Equal(old.Binary, m.Binary) {
		if ok { // it was damaged
			m.CreatedAt = old.CreatedAt
		}
		m.Binary, m.Manifest = bytes.Clone(m.Binary), bytes.Clone(m.Manifest)
		s.modules[m.Digest] = m
	}
	key := deploymentKey{d.Namespace, d.Name}
	d.Version = s.deployed[key].Version + 1
	s.deployed[key] = cloneDeployment(d)
	return d, nil
}

// BeginGuest always fails: the oracle runs no SQL.
func (s *Store) BeginGuest(context.Context, string) (journal.GuestTx, error) {
	return nil, abi.Errorf(abi.CodeStore, "the in-memory store runs no SQL of modules")
}

// Sweep implements journal.Store.
func (s *Store) Sweep(ctx context.Context, own []journal.Fence, finishedBefore int64, limit int) (int, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if err := journal.Owned(own).Check(); err != nil {
		return 0, err
	}
	if limit <= 0 {
		return 0, nil
	}
	s.freeLocked(own)
	var expired []*journal.Execution
	for e := range s.allLocked() {
		if !e.row.State.Final() || e.row.FinishedAt <= 0 || e.row.FinishedAt >= finishedBefore {
			continue
		}
		if !journal.Owned(own).Has(e.row.ID.Shard()) || s.neededLocked(&e.row) {
			continue
		}
		expired = append(expired, &e.row)
	}
	slices.SortFunc(expired, func(a, b *journal.Execution) int {
		return cmp.Or(compareTimes(a.FinishedAt, b.FinishedAt, a.ID, b.ID), cmp.Compare(a.Superseded, b.Superseded))
	})
	expired = expired[:min(len(expired), limit)]
	for n, e := range expired {
		if shard := e.ID.Shard(); own[shard] != s.fences[shard] {
			return n, journal.ErrFenced
		}
		s.removeLocked(e)
	}
	return len(expired), nil
}

// freeLocked releases the rows held by runs that have ended.
func (s *Store) freeLocked(own []journal.Fence) {
	maps.DeleteFunc(s.holds, func(run journal.RunKey, _ bool) bool {
		e := s.runLocked(run)
		return journal.Owned(own).Has(run.Shard) && (e == nil || e.row.State.Final())
	})
}

// Purge implements journal.Store: the data of a run is gone with it. Messages without a receiver
// are left, and runs that hold others.
func (s *Store) Purge(ctx context.Context, own []journal.Fence, _ int) (int, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if err := journal.Owned(own).Check(); err != nil {
		return 0, err
	}
	chains := map[journal.Receiver]bool{}
	for e := range s.allLocked() {
		chains[e.row.Receiver()] = true
	}
	for to, b := range s.boxes {
		if shard := to.ID.Shard(); !to.Chain.IsZero() && !chains[to] && journal.Owned(own).Has(shard) {
			if own[shard] != s.fences[shard] {
				return 0, journal.ErrFenced
			}
			b.dropLost()
		}
	}
	maps.DeleteFunc(s.gone, func(run journal.RunKey, _ bool) bool {
		return !s.holds[run] && own[run.Shard] == s.fences[run.Shard]
	})
	return 0, nil
}

// allLocked yields all runs, current and superseded.
func (s *Store) allLocked() iter.Seq[*execution] {
	return func(yield func(*execution) bool) {
		for _, e := range s.executions {
			if !yield(e) {
				return
			}
		}
		for _, runs := range s.superseded {
			for _, e := range runs {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// runLocked finds a run; nil if there is none.
func (s *Store) runLocked(key journal.RunKey) *execution {
	for e := range s.allLocked() {
		if e.row.RunKey() == key {
			return e
		}
	}
	return nil
}

// removeLocked removes a run, and with the current one the receipts of its execution.
func (s *Store) removeLocked(row *journal.Execution) {
	delete(s.boxes, row.Receiver())
	delete(s.boxes, row.Settlements())
	s.gone[row.RunKey()] = true
	if row.Superseded > 0 {
		s.superseded[row.ID] = slices.DeleteFunc(s.superseded[row.ID], func(e *execution) bool {
			return e.row.Run == row.Run
		})
		return
	}
	delete(s.executions, row.ID)
	maps.DeleteFunc(s.receipts, func(k receiptKey, _ journal.Receipt) bool { return k.id == row.ID })
}

// neededLocked tells whether an execution that is not over may ask for this one, and notes which.
func (s *Store) neededLocked(row *journal.Execution) bool {
	if s.heldLocked(row.Parent) {
		return true
	}
	for _, p := range s.executions {
		for _, l := range p.links {
			if l.Chain == row.Chain && !p.row.State.Final() {
				s.holds[p.row.RunKey()] = true
				return true
			}
		}
	}
	return false
}

// heldLocked tells whether the run of a step is not over, so that nothing of it is swept, and notes that.
func (s *Store) heldLocked(step journal.Caller) bool {
	if !s.liveLocked(step) {
		return false
	}
	s.holds[journal.KeyOf(step.ID, step.Run)] = true
	return true
}

// Ping implements journal.Store.
func (s *Store) Ping(ctx context.Context) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	leave()
	return nil
}

// Close implements journal.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func compareTimes(a, b int64, x, y journal.ID) int {
	if a != b {
		if a < b {
			return -1
		}
		return 1
	}
	return strings.Compare(string(x[:]), string(y[:]))
}
