package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// The rows of a batch, column by column, as the prepared statements take them.

// keys are the first two columns of every table.
type keys struct {
	shards []int16
	ids    [][]byte
}

func (k *keys) add(id journal.ID) {
	k.shards = append(k.shards, int16(id.Shard()))
	k.ids = append(k.ids, id[:])
}

func (k *keys) len() int64 { return int64(len(k.ids)) }

type startRows struct {
	keys
	namespaces, workflows, keyNames, digests, states []string
	inputs, values, errors, interrupts, parents      [][]byte
	wakes, parentOps, created, finished              []int64
}

func (r *startRows) add(e *journal.Execution) {
	r.keys.add(e.ID)
	r.namespaces = append(r.namespaces, e.Namespace)
	r.workflows = append(r.workflows, e.Workflow)
	r.keyNames = append(r.keyNames, e.Key)
	r.digests = append(r.digests, e.Digest)
	r.inputs = append(r.inputs, e.Input)
	r.states = append(r.states, string(e.State))
	r.values = append(r.values, e.Value)
	r.errors = append(r.errors, encodeError(e.Error))
	r.wakes = append(r.wakes, e.WakeAt)
	r.interrupts = append(r.interrupts, encodeInterrupt(e.Interrupt))
	var parent []byte
	if !e.Parent.IsZero() {
		parent = e.Parent[:]
	}
	r.parents = append(r.parents, parent)
	r.parentOps = append(r.parentOps, int64(e.ParentOp))
	r.created = append(r.created, e.CreatedAt)
	r.finished = append(r.finished, e.FinishedAt)
}

func (r *startRows) queue(b *pgx.Batch, stmt string) *pgx.QueuedQuery {
	return b.Queue(stmt, r.shards, r.ids, r.namespaces, r.workflows, r.keyNames, r.digests, r.inputs, r.states,
		r.values, r.errors, r.wakes, r.interrupts, r.parents, r.parentOps, r.created, r.finished)
}

type entryRows struct {
	keys
	seqs    []int64
	entries [][]byte
}

func (r *entryRows) add(id journal.ID, e *journal.Entry) {
	r.keys.add(id)
	r.seqs = append(r.seqs, int64(e.Seq))
	r.entries = append(r.entries, abi.MustMarshal(e))
}

type update struct {
	id journal.ID
	*journal.Update
}

type interrupt struct {
	id journal.ID
	*journal.Interrupt
}

func queueUpdates(b *pgx.Batch, updates []update) {
	var k keys
	var states []string
	var values, errs [][]byte
	var wakes, finished []int64
	for _, u := range updates {
		k.add(u.id)
		states = append(states, string(u.State))
		wakes = append(wakes, u.WakeAt)
		values = append(values, u.Value)
		errs = append(errs, encodeError(u.Error))
		finished = append(finished, u.FinishedAt)
	}
	b.Queue(stmtUpdates, k.shards, k.ids, states, wakes, values, errs, finished, k.len())
}

func queueInterrupts(b *pgx.Batch, interrupts []interrupt) {
	var k keys
	var requests [][]byte
	for _, i := range interrupts {
		k.add(i.id)
		requests = append(requests, encodeInterrupt(i.Interrupt))
	}
	b.Queue(stmtInterrupts, k.shards, k.ids, requests, k.len())
}

type settleRows struct {
	keys
	names          []string
	values, errors [][]byte
	at             []int64
}

func (r *settleRows) add(id journal.ID, d *journal.Deferred) {
	r.keys.add(id)
	r.names = append(r.names, d.Name)
	r.values = append(r.values, d.Value)
	r.errors = append(r.errors, encodeError(d.Error))
	r.at = append(r.at, d.At)
}

func (r *settleRows) queue(b *pgx.Batch, stmt string) *pgx.QueuedQuery {
	return b.Queue(stmt, r.shards, r.ids, r.names, r.values, r.errors, r.at)
}

func encodeError(e *abi.Error) []byte {
	if e == nil {
		return nil
	}
	return abi.MustMarshal(e)
}

func encodeInterrupt(i *journal.Interrupt) []byte {
	if i == nil {
		return nil
	}
	return abi.MustMarshal(i)
}
