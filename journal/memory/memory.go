package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
	executions map[journal.ID]*execution            //
	entities   map[journal.ID]journal.Entity        //
	boxes      map[journal.ID]*box                  // by receiver
	position   uint64                               // of the message that was sent last
	modules    map[string]journal.Module            // by digest
	deployed   map[deploymentKey]journal.Deployment //
	migrated   map[migrationKey]string              // checksum
	schedules  map[journal.ID]journal.Schedule      //
	locks      map[journal.ID]journal.Lock          // by entity
	givenUp    map[journal.Caller]journal.GiveUp    //
}

type execution struct {
	row       journal.Execution
	entries   map[uint64][]byte // by sequence number, encoded
	deferreds map[string]journal.Deferred
	links     map[journal.StepID]journal.Link
	saved     *journal.Hibernated // nil if there is none
	published []byte              // the body; nil if there is none
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
		boxes:      map[journal.ID]*box{},
		modules:    map[string]journal.Module{},
		deployed:   map[deploymentKey]journal.Deployment{},
		migrated:   map[migrationKey]string{},
		schedules:  map[journal.ID]journal.Schedule{},
		locks:      map[journal.ID]journal.Lock{},
		givenUp:    map[journal.Caller]journal.GiveUp{},
	}
}

// CommitsAtOnce implements journal.Store.
func (s *Store) CommitsAtOnce() int { return 1 }

// Dialect is that of the embedded store: the oracle stands in for it.
func (s *Store) Dialect() string { return abi.DialectSQLite }

// GuestsAlone is that of the embedded store, too.
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

// applyLocked works on a copy of the execution and puts it in place at the end: a
// write that fails half-way leaves nothing.
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
	before, exists := s.executions[w.ID]
	if w.Start != nil {
		if exists && !replaces(w, &before.row) {
			return journal.Result{Existed: true}
		}
		before = &execution{row: cloneExecution(*w.Start)}
		if before.row.Chain.IsZero() {
			before.row.Chain = before.row.Run
		}
	} else if !exists || before.row.Run != w.Run {
		return journal.Result{Err: journal.ErrNotFound}
	}
	after := &execution{
		row: before.row, entries: maps.Clone(before.entries), deferreds: maps.Clone(before.deferreds), links: maps.Clone(before.links),
		saved: before.saved, published: before.published,
	}
	if after.entries == nil {
		after.entries, after.deferreds, after.links = map[uint64][]byte{}, map[string]journal.Deferred{}, map[journal.StepID]journal.Link{}
	}
	if l := w.Link; l != nil {
		if _, linked := after.links[l.Step]; linked {
			return journal.Result{Existed: true}
		}
		if callee := s.executions[l.Callee]; callee == nil || callee.row.Chain != l.Chain {
			return journal.Result{Err: journal.ErrSwept}
		}
		after.links[l.Step] = *l
	}
	for _, d := range w.Deferreds {
		after.deferreds[d.Name] = cloneDeferred(d)
	}
	if d := w.Settle; d != nil {
		if _, settled := after.deferreds[d.Name]; settled {
			return journal.Result{Existed: true}
		}
		after.deferreds[d.Name] = cloneDeferred(*d)
	}
	boxes, position, res := s.boxesLocked(w)
	if res != (journal.Result{}) {
		return res
	}
	for _, e := range w.Entries {
		if _, taken := after.entries[e.Seq]; taken {
			return journal.Result{Err: fmt.Errorf("memory: execution %s has an entry %d already", w.ID, e.Seq)}
		}
		after.entries[e.Seq] = abi.MustMarshal(e)
	}
	if u := w.Update; u != nil {
		after.row.State, after.row.WakeAt, after.row.FinishedAt = u.State, u.WakeAt, u.FinishedAt
		after.row.Value, after.row.Error, after.row.Waiting = bytes.Clone(u.Value), cloneError(u.Error), u.Waiting
		after.row.MovedAt, after.row.Section = max(after.row.MovedAt, u.MovedAt), u.Section
		if u.Digest != "" {
			after.row.Digest = u.Digest
		}
	}
	if w.Interrupt != nil && after.row.Interrupt == nil {
		i := *w.Interrupt
		after.row.Interrupt = &i
	}
	if w.Wakes() && after.row.State == journal.Running {
		after.row.WakeAt = journal.Now
	}
	if h := w.Hibernate; h != nil {
		after.saved = nil
		if len(h.Body) > 0 {
			after.saved = &journal.Hibernated{Seq: h.Seq, Body: bytes.Clone(h.Body)}
		}
	}
	if after.row.State.Final() {
		after.saved = nil
	}
	if w.Publish != nil {
		after.published = w.Publish.Body()
	}
	if w.Continue != nil {
		after = continued(after, w.Continue)
		boxes[w.ID].release()
	}
	if exists && w.Start != nil {
		s.setAsideLocked(w.ID, boxes)
	}
	s.executions[w.ID] = after
	s.giveUpLocked(w)
	return s.deliverLocked(w, boxes, position)
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
		entries: map[uint64][]byte{}, deferreds: map[string]journal.Deferred{}, links: map[journal.StepID]journal.Link{},
	}
}

// deliverLocked puts the boxes that a Write changes in place.
func (s *Store) deliverLocked(w *journal.Write, after map[journal.ID]*box, position uint64) (res journal.Result) {
	if w.Receive != nil {
		res.Position = s.position + 1
	}
	maps.Copy(s.boxes, after)
	s.position = position
	return res
}

// Deploy implements journal.Store. Migrations are recorded, not run.
func (s *Store) Deploy(ctx context.Context, f journal.Fence, m journal.Module, d journal.Deployment, migrations []abi.Migration) (journal.Deployment, error) {
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
			return journal.Deployment{}, abi.Errorf(abi.CodeMigrationFailed, "migration %d of deployment %q is there twice", step.Version, d.Name)
		}
		seen[step.Version] = true
		sum := sha256.Sum256([]byte(step.SQL))
		checksum, key := hex.EncodeToString(sum[:]), migrationKey{d.Namespace, d.Name, step.Version}
		if old, ok := migrated[key]; ok && old != checksum {
			return journal.Deployment{}, abi.Errorf(abi.CodeMigrationFailed, "migration %d of deployment %q was applied before with another text", step.Version, d.Name)
		}
		migrated[key] = checksum
	}
	s.migrated = migrated
	if _, ok := s.modules[m.Digest]; !ok {
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
	if !slices.Equal(own, s.fences[:]) {
		return 0, journal.ErrFenced
	}
	var expired []*journal.Execution
	for _, e := range s.executions {
		if !e.row.State.Final() || e.row.FinishedAt <= 0 || e.row.FinishedAt >= finishedBefore {
			continue
		}
		if s.neededLocked(&e.row) {
			continue
		}
		expired = append(expired, &e.row)
	}
	slices.SortFunc(expired, func(a, b *journal.Execution) int {
		return compareTimes(a.FinishedAt, b.FinishedAt, a.ID, b.ID)
	})
	if len(expired) > limit {
		expired = expired[:max(limit, 0)]
	}
	for _, e := range expired {
		delete(s.executions, e.ID)
		delete(s.boxes, e.ID)
	}
	return len(expired), nil
}

// neededLocked tells whether an execution that is not over may ask for this one.
func (s *Store) neededLocked(row *journal.Execution) bool {
	if p, ok := s.executions[row.Parent.ID]; ok && p.row.Run == row.Parent.Run && !p.row.State.Final() {
		return true
	}
	for _, p := range s.executions {
		for _, l := range p.links {
			if l.Chain == row.Chain && !p.row.State.Final() {
				return true
			}
		}
	}
	return false
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
