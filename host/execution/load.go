package host

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// errGone says that an execution has no row.
var errGone = errors.New("host: no such execution")

// load brings an execution from the store into memory: its row, its settled
// deferreds and, if it is running, its guest, replayed to where the journal
// ends.
func (r *run) load(ctx context.Context) error {
	row, err := r.eng.store.Load(ctx, r.id)
	if errors.Is(err, journal.ErrNotFound) {
		return errGone
	}
	if err != nil {
		return err
	}
	settled, err := r.eng.store.Deferreds(ctx, r.id)
	if err != nil {
		return err
	}
	r.adopt(row)
	clear(r.deferreds)
	for _, d := range settled {
		r.deferreds[d.Name] = d
	}
	if row.State != journal.Running {
		// The commit that ended it may have been one whose answer was lost: then
		// nobody has been told.
		r.stopWork()
		r.eng.timers.set(r.id, journal.Never)
		r.eng.waiters.notify(row)
		return nil
	}
	return r.rebuild(ctx)
}

// rebuild replays the whole journal. A replay that fails for reasons of the
// guest pauses the execution; only a failure of the store is returned.
func (r *run) rebuild(ctx context.Context) error {
	reader := &journalReader{store: r.eng.store, id: r.id, upTo: ^uint64(0)}
	pending, res, err := r.replay(ctx, reader)
	r.mu.Lock()
	r.seq, r.turn, r.clock = max(r.seq, reader.seq), max(r.turn, reader.turn), max(r.clock, reader.at)
	r.mu.Unlock()
	if err != nil {
		return r.rebuildFailed(err)
	}
	r.started = true
	r.mu.Lock()
	r.pending = pending
	r.salvage()
	r.mu.Unlock()
	r.delivered = reader.seq
	for number := range r.inflight {
		if pending[number] == nil {
			// The guest gave up on it in a turn whose commit was in doubt.
			r.endWork(number)
		}
	}
	if res.outcome != nil {
		// The last delivery is durable, its consequence is not: a transaction
		// committed it, and the host was gone before the result was.
		r.conclude(batch{}, turnResult{outcome: res.outcome})
		if r.row == nil {
			return errors.New("the result could not be committed")
		}
	}
	return nil
}

// salvage gives outcomes back to their ops after a reload. Those of ops that
// the journal has delivered meanwhile are dropped. r.mu is held.
func (r *run) salvage() {
	for number, m := range r.salvaged {
		if o := r.pending[number]; o != nil && !o.settled() {
			o.outcome, o.attempts = &m.outcome, m.attempts
		}
	}
	clear(r.salvaged)
}

func (r *run) rebuildFailed(err error) error {
	var coded *abi.Error
	if r.eng.ctx.Err() != nil || !errors.As(err, &coded) || coded.Code == abi.CodeStore {
		r.unload()
		return err
	}
	r.crashed(batch{}, err)
	if r.row == nil {
		return err
	}
	if r.row.State == journal.Running {
		// A crash that may pass: the next attempt loads afresh.
		crashes := r.crashes
		r.unload()
		r.crashes = crashes
		return err
	}
	return nil
}

// revive replays an execution whose instance was dropped, up to the last
// delivery it saw. What is pending is known and stays as it is.
func (r *run) revive(ctx context.Context) error {
	pending, res, err := r.replay(ctx, &journalReader{store: r.eng.store, id: r.id, upTo: r.delivered})
	if err != nil {
		return err
	}
	if res.outcome != nil {
		return abi.Errorf(abi.CodeNondeterminism, "on replay the workflow finished; before, it was waiting for %d ops", len(r.pending))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for number, o := range r.pending {
		if again := pending[number]; again == nil || !sameOp(again.Op, o.Op) {
			return abi.Errorf(abi.CodeNondeterminism, "on replay the workflow no longer waits for %s", describeOp(o.Op))
		}
	}
	return nil
}

// begin makes a fresh guest and gives it its first turn.
func (r *run) begin(ctx context.Context) (turnResult, error) {
	_, name, _ := strings.Cut(r.row.Workflow, "/")
	m, err := r.eng.modules.get(ctx, r.row.Digest)
	if err != nil {
		return turnResult{}, err
	}
	return r.compute(ctx, func(ctx context.Context) (turnResult, error) {
		g, err := r.eng.newGuest(ctx, m, r.row)
		if err != nil {
			return turnResult{}, err
		}
		r.keepGuest(g)
		return g.start(ctx, abi.Invocation{
			Kind: abi.InvokeWorkflow, Name: name, Body: r.row.Input,
			Execution: r.row.Name(), Namespace: r.row.Namespace, Time: r.row.CreatedAt,
		})
	})
}

func (r *run) keepGuest(g *guest) {
	r.mu.Lock()
	r.guest = g
	r.mu.Unlock()
	r.eng.resident.add(r.id, r.eng.evict)
}

// replay runs a fresh guest through a journal: the same batches, the same
// clock. It returns the ops that are pending at its end.
func (r *run) replay(ctx context.Context, reader *journalReader) (map[uint32]*op, turnResult, error) {
	r.eng.metrics.replays.Inc()
	r.eng.fault(FaultReplay)
	res, err := r.begin(ctx)
	if err != nil {
		return nil, res, err
	}
	ops := replayedOps{pending: map[uint32]*op{}, everIssued: map[uint32]*op{}}
	ops.take(res)
	for {
		turn, err := reader.next(ctx)
		if err != nil {
			return nil, res, err
		}
		if len(turn) == 0 {
			return ops.pending, res, nil
		}
		due, err := ops.match(turn)
		if err != nil {
			return nil, res, err
		}
		if len(due) == 0 {
			continue
		}
		if res.outcome != nil {
			return nil, res, abi.Errorf(abi.CodeNondeterminism, "on replay the workflow finished early: the journal goes on with %s", describeOp(due[0].Op))
		}
		if res, err = r.deliver(ctx, due); err != nil {
			return nil, res, err
		}
		ops.take(res)
	}
}

// replayedOps follows which ops a replayed guest has issued.
type replayedOps struct {
	pending    map[uint32]*op
	everIssued map[uint32]*op
}

func (ops *replayedOps) take(res turnResult) {
	for _, o := range res.issued {
		ops.pending[o.Number] = o
		ops.everIssued[o.Number] = o
	}
	for _, number := range res.cancelled {
		delete(ops.pending, number)
	}
}

// match checks the entries of a turn against the ops they answer, and returns
// the deliveries that are due. Entries of ops that the guest has cancelled are
// passed over, as they were the first time.
func (ops *replayedOps) match(turn []journal.Entry) ([]journal.Entry, error) {
	due := make([]journal.Entry, 0, len(turn))
	for _, en := range turn {
		issued := ops.everIssued[en.Op.Number]
		if issued == nil || !sameOp(issued.Op, en.Op) {
			return nil, nondeterminism(en, issued)
		}
		o := ops.pending[en.Op.Number]
		if o == nil {
			continue
		}
		if en.Kind == journal.Attempt {
			o.attempts, o.nextAt, o.lastError = en.Attempts, en.NextAt, en.Error
			continue
		}
		delete(ops.pending, en.Op.Number)
		due = append(due, en)
	}
	return due, nil
}

func sameOp(a, b journal.Op) bool {
	return a.Number == b.Number && a.Kind == b.Kind && a.Name == b.Name && a.Key == b.Key && bytes.Equal(a.Hash, b.Hash)
}

// nondeterminism shows what the journal holds beside what the workflow did.
func nondeterminism(en journal.Entry, issued *op) *abi.Error {
	now := "nothing"
	if issued != nil {
		now = describeOp(issued.Op)
	}
	return abi.Errorf(abi.CodeNondeterminism,
		"the workflow did something else on replay\n  journal, entry %d: %s\n  replay:            %s", en.Seq, describeOp(en.Op), now)
}

func describeOp(o journal.Op) string {
	s := fmt.Sprintf("op %d %s", o.Number, o.Kind)
	if o.Name != "" {
		s += fmt.Sprintf(" %q", o.Name)
	}
	if o.Key != "" {
		return s + fmt.Sprintf(" key %q", o.Key)
	}
	return s + " arguments " + hex.EncodeToString(o.Hash[:min(len(o.Hash), 4)])
}
