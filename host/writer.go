package host

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/sharding"
)

// writer is the only way of a host to its journal. Every write names the fence of its shard; the first that is refused
// for it ends the host.
type writer struct {
	host      string
	state     *hoststate.State
	log       *slog.Logger
	store     journal.Store
	committer *journal.Committer
	followers *follow.List
	ownership *sharding.Ownership // set by Start, before anything is written
	underWay  atomic.Int64        // writes that were handed over and have no answer yet
	bytes     atomic.Int64        // of these writes
	metrics   *writerMetrics
}

func newWriter(cfg Config, state *hoststate.State, followers *follow.List) *writer {
	w := &writer{
		followers: followers,
		host:      cfg.Name,
		store:     cfg.Store,
		state:     state,
		log:       cfg.Logger,
		metrics:   newWriterMetrics(cfg.Registerer),
	}
	w.committer = journal.NewCommitter(cfg.Store, journal.CommitterOptions{
		Clock: cfg.Clock, Observe: w.metrics.observeGroup, Logger: cfg.Logger,
	})
	return w
}

// Commit makes one write durable through the group committer.
func (w *writer) Commit(write journal.Write) (journal.Result, error) {
	w.underWay.Add(1)
	defer w.underWay.Add(-1)
	defer w.count(write.Size())()
	write.Fence = w.ownership.Fence(write.ID.Shard())
	res, err := w.committer.Commit(w.state.Context(), write)
	w.followers.Notify(write.ID)
	w.checkFence(err)
	if errors.Is(err, context.Canceled) {
		// The host's end withdrew it, not a deadline of the caller.
		if reason := w.state.Accepting(); reason != nil {
			err = reason
		}
	}
	return res, err
}

// count counts the bytes of a write until it is answered.
func (w *writer) count(bytes int) (answered func()) {
	w.bytes.Add(int64(bytes))
	return func() { w.bytes.Add(-int64(bytes)) }
}

// crowd is how many writes are under way when the next one shares its commit with many.
const crowd = 4

// Shares tells whether a write would share its commit with many others. If the store commits
// nothing while a transaction of an activity is open, then these wait for that transaction, and its
// own transaction would have to wait for a later one: that is not cheaper.
func (w *writer) Shares() bool { return !w.store.GuestsAlone() && w.underWay.Load() >= crowd }

// CommitTx commits the transaction of an activity together with a write.
func (w *writer) CommitTx(ctx context.Context, tx journal.GuestTx, write journal.Write) error {
	defer w.count(write.Size())()
	write.Fence = w.ownership.Fence(write.ID.Shard())
	err := tx.Commit(ctx, write)
	w.followers.Notify(write.ID)
	w.metrics.commits.WithLabelValues("guest", metric.Result(err)).Inc()
	w.checkFence(err)
	return err
}

// Deploy stores a module and points a deployment at it.
func (w *writer) Deploy(
	ctx context.Context, m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	defer w.count(len(m.Binary))()
	d, err := w.store.Deploy(ctx, w.ownership.Fence(d.Shard()), m, d, migrations)
	w.checkFence(err)
	return d, err
}

// Sweep deletes finished executions.
func (w *writer) Sweep(ctx context.Context, finishedBefore int64, limit int) (int, error) {
	n, err := w.store.Sweep(ctx, w.ownership.Fences(), finishedBefore, limit)
	w.checkFence(err)
	return n, err
}

// Delete deletes a finished run, unless it was superseded since it was read.
func (w *writer) Delete(ctx context.Context, row *journal.Execution) error {
	err := w.store.Delete(ctx, w.ownership.Fence(row.ID.Shard()), row.ID, row.Run, row.Superseded)
	w.checkFence(err)
	return err
}

// Purge deletes rows of runs that are gone.
func (w *writer) Purge(ctx context.Context, _ int64, limit int) (int, error) {
	n, err := w.store.Purge(ctx, w.ownership.Fences(), limit)
	w.checkFence(err)
	return n, err
}

// SweepReceipts deletes receipts of messages.
func (w *writer) SweepReceipts(ctx context.Context, before int64, limit int) (int, error) {
	n, err := w.store.SweepReceipts(ctx, w.ownership.Fences(), before, limit)
	w.checkFence(err)
	return n, err
}

// SweepLocks deletes locks that no one holds.
func (w *writer) SweepLocks(ctx context.Context, _ int64, limit int) (int, error) {
	n, err := w.store.SweepLocks(ctx, w.ownership.Fences(), limit)
	w.checkFence(err)
	return n, err
}

// SaveSchedule writes a schedule.
func (w *writer) SaveSchedule(ctx context.Context, s journal.Schedule, most int) error {
	err := w.store.SaveSchedule(ctx, w.ownership.Fence(s.ID().Shard()), s, most)
	w.checkFence(err)
	return err
}

// DeleteSchedule deletes a schedule.
func (w *writer) DeleteSchedule(ctx context.Context, id journal.ID, version int64) error {
	err := w.store.DeleteSchedule(ctx, w.ownership.Fence(id.Shard()), id, version)
	w.checkFence(err)
	return err
}

// checkFence ends the host if a write was refused because another host has taken over, or because the store is gone.
// There is nothing to save: all this host could do is be in the way.
func (w *writer) checkFence(err error) {
	if errors.Is(err, journal.ErrStoreGone) {
		if w.state.Lose(abi.AsError(journal.Coded("commit", err))) {
			w.log.Error("the store is gone; this host writes nothing any more", "error", err)
		}
		return
	}
	if !errors.Is(err, journal.ErrFenced) {
		return
	}
	if w.state.Lose(abi.Errorf(abi.CodeFenced, "another host has taken over from %s", w.host)) {
		w.log.Error("ownership lost; this host writes nothing any more")
	}
}

func (w *writer) queued() int { return w.committer.Queued() }

// queuedBytes is the size of the writes that have no answer yet.
func (w *writer) queuedBytes() int64 { return w.bytes.Load() }

func (w *writer) stop() { w.committer.Stop() }

type writerMetrics struct {
	commits    *prometheus.CounterVec
	commitTime prometheus.Histogram
	entries    prometheus.Counter
	writes     prometheus.Counter
}

func newWriterMetrics(reg prometheus.Registerer) *writerMetrics {
	return &writerMetrics{
		commits: metric.Counters(
			reg, "commits_total", "Transactions, by kind (group, guest) and result (ok, error).", "kind", "result",
		),
		commitTime: metric.Seconds(reg, "commit_seconds", "Time of a group commit."),
		entries:    metric.Counter(reg, "journal_entries_total", "Entries appended to journals by group commits."),
		writes: metric.Counter(
			reg, "commit_writes_total", "Writes that group commits carried; over commits_total, how many share one.",
		),
	}
}

func (m *writerMetrics) observeGroup(s journal.CommitStats) {
	m.commits.WithLabelValues("group", metric.Result(s.Err)).Inc()
	m.commitTime.Observe(s.Duration.Seconds())
	m.writes.Add(float64(s.Writes))
	m.entries.Add(float64(s.Entries))
}
