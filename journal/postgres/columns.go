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

// addRun adds the key of a run, for a table whose rows belong to one.
func (k *keys) addRun(key journal.RunKey) {
	k.shards = append(k.shards, int16(key.Shard))
	k.ids = append(k.ids, key.Run[:])
}

func (k *keys) len() int64 { return int64(len(k.ids)) }

// receiverKeys are the keys of inboxes.
type receiverKeys struct {
	keys
	chains [][]byte
}

func (k *receiverKeys) add(to journal.Receiver) {
	k.keys.add(to.ID)
	k.chains = append(k.chains, chainColumn(to.Chain))
}

func (k *receiverKeys) dropLast() {
	last := len(k.shards) - 1
	k.shards, k.ids, k.chains = k.shards[:last], k.ids[:last], k.chains[:last]
}

// chainColumn is empty for the inbox of an entity.
func chainColumn(chain journal.RunID) []byte {
	if chain.IsZero() {
		return []byte{}
	}
	return chain[:]
}

// receiverOf makes a receiver of its columns.
func receiverOf(id, chain []byte) (to journal.Receiver) {
	copy(to.ID[:], id)
	copy(to.Chain[:], chain)
	return to
}

// shardOf is the shard of an id, in SQL: see journal.ID.Shard.
func shardOf(id string) string {
	return `(4 * get_byte(` + id + `, 0) + get_byte(` + id + `, 1) / 64)::int2`
}

// runKeyOf makes the key of a run of its columns.
func runKeyOf(shard int16, run []byte) journal.RunKey {
	key := journal.RunKey{Shard: journal.Shard(shard)}
	copy(key.Run[:], run)
	return key
}

// runKeys are the keys of executions, each with the run that is meant.
type runKeys struct {
	keys
	runs [][]byte
}

func (k *runKeys) add(id journal.ID, run journal.RunID) {
	k.keys.add(id)
	k.runs = append(k.runs, run[:])
}

type fenceRows struct {
	shards []int16
	epochs []int64
	tokens [][]byte
}

func (r *fenceRows) add(shard journal.Shard, f journal.Fence) {
	r.shards = append(r.shards, int16(shard))
	r.epochs = append(r.epochs, int64(f.Epoch))
	r.tokens = append(r.tokens, f.Token[:])
}

func (r *fenceRows) queue(b *pgx.Batch) {
	b.Queue(stmtFence, r.shards, r.epochs, int64(len(r.shards)), r.tokens)
}

// fenceOf makes a fence of its columns. A token that is not one is no owner's.
func fenceOf(epoch int64, token []byte) journal.Fence {
	f := journal.Fence{Epoch: journal.Epoch(epoch)}
	copy(f.Token[:], token)
	return f
}

type startRows struct {
	keys
	namespaces, workflows, keyNames, digests, states []string
	inputs, values, errors, interrupts               [][]byte
	parents, parentRuns, parentSteps                 [][]byte
	runs, waiting, pinned                            [][]byte
	sections, chains, requests                       [][]byte
	wakes, created, finished, moved, continued       []int64
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
	var parent, run, step []byte
	if p := e.Parent; !p.IsZero() {
		parent, run, step = p.ID[:], p.Run[:], p.Step[:]
	}
	r.parents, r.parentRuns, r.parentSteps = append(r.parents, parent), append(r.parentRuns, run), append(
		r.parentSteps, step,
	)
	r.runs = append(r.runs, e.Run[:])
	r.waiting = append(r.waiting, abi.MustMarshal(&e.Waiting))
	r.pinned = append(r.pinned, abi.MustMarshal(&e.Pinned))
	r.moved = append(r.moved, int64(e.MovedAt))
	r.sections = append(r.sections, stepColumn(e.Section))
	var chain []byte
	if !e.Chain.IsZero() && e.Chain != e.Run {
		chain = e.Chain[:]
	}
	r.chains = append(r.chains, chain)
	r.continued = append(r.continued, int64(e.Continued))
	var request []byte
	if e.Request != (journal.Origin{}) {
		request = e.Request[:]
	}
	r.requests = append(r.requests, request)
	r.created = append(r.created, e.CreatedAt)
	r.finished = append(r.finished, e.FinishedAt)
}

func (r *startRows) queue(b *pgx.Batch, stmt string) *pgx.QueuedQuery {
	return b.Queue(stmt, r.shards, r.ids, r.namespaces, r.workflows, r.keyNames, r.digests, r.inputs, r.states,
		r.values, r.errors, r.wakes, r.interrupts, r.parents, r.parentRuns, r.parentSteps, r.created, r.finished,
		r.runs, r.waiting, r.pinned, r.moved, r.sections, r.chains, r.continued, r.requests)
}

// queueFresh appends the check that no run was there before.
func (r *startRows) queueFresh(b *pgx.Batch) { b.Queue(stmtFresh, r.shards, r.runs) }

// stepColumn is NULL if there is no step.
func stepColumn(step journal.StepID) []byte {
	if step == (journal.StepID{}) {
		return nil
	}
	return step[:]
}

type entryRows struct {
	keys
	seqs, lasts []int64
	bodies      [][]byte
}

// add adds the entries of a write. Entries of a guest have a row each: the key of its row keeps a
// transaction of a guest whose commit is in doubt from taking effect beside the Void entry in its place.
func (r *entryRows) add(w *journal.Write, known premise) {
	rows := journal.PackEntries(w.Entries)
	if known == guest {
		rows = nil
		for i := range w.Entries {
			rows = append(rows, journal.PackEntries(w.Entries[i:i+1])...)
		}
	}
	for _, row := range rows {
		r.keys.addRun(journal.KeyOf(w.ID, w.Run))
		r.seqs, r.lasts = append(r.seqs, int64(row.First)), append(r.lasts, int64(row.Last))
		r.bodies = append(r.bodies, row.Body)
	}
}

type update struct {
	id         journal.ID
	run, chain journal.RunID
	*journal.Update
}

func queueUpdates(b *pgx.Batch, updates []update) {
	var k runKeys
	var states, digests []string
	var values, errs, waiting, sections, chains, interrupts [][]byte
	var wakes, finished, moved, arrivals []int64
	for _, u := range updates {
		k.add(u.id, u.run)
		chains = append(chains, u.chain[:])
		waiting = append(waiting, abi.MustMarshal(&u.Waiting))
		digests = append(digests, u.Digest)
		moved = append(moved, int64(u.MovedAt))
		sections = append(sections, stepColumn(u.Section))
		states = append(states, string(u.State))
		wakes, arrivals = append(wakes, u.WakeAt), append(arrivals, int64(u.Arrivals))
		values = append(values, u.Value)
		errs = append(errs, encodeError(u.Error))
		finished = append(finished, u.FinishedAt)
		interrupts = append(interrupts, encodeInterrupt(u.Interrupt))
	}
	b.Queue(
		stmtUpdates, k.shards, k.ids, k.runs, states, wakes, values, errs, finished, waiting, digests, moved, k.len(),
		sections, chains, interrupts, arrivals,
	)
}

type linkRows struct {
	keys
	steps, callees, chains [][]byte
}

func (r *linkRows) add(run journal.RunKey, l *journal.Link) {
	r.keys.addRun(run)
	r.steps = append(r.steps, l.Step[:])
	r.callees = append(r.callees, l.Callee[:])
	r.chains = append(r.chains, l.Chain[:])
}

func (r *linkRows) queue(b *pgx.Batch, stmt string) *pgx.QueuedQuery {
	return b.Queue(stmt, r.shards, r.ids, r.steps, r.callees, r.chains)
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
