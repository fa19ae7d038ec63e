package commit

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/entity/metrics"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/journal"
)

// Committer makes one write durable, fenced by the epoch of its shard.
type Committer interface {
	Commit(w journal.Write) (journal.Result, error)
}

// Callers are the executions that have called entities, and left memory.
type Callers interface {
	// Answered says that answers are in their inboxes.
	Answered(sent []journal.Sent)
}

// Store finds the witnesses of writes.
type Store interface {
	Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error)
	Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error)
	Receipts(ctx context.Context, id journal.ID, origins []journal.Origin) ([]journal.Receipt, error)
}

// Writer commits the effects of operations.
type Writer struct {
	Callers   Callers
	Clock     clockwork.Clock
	Committer Committer
	Fault     faultpoint.Injector
	Host      *hoststate.State
	Logger    *slog.Logger
	Metrics   *metrics.Metrics
	Store     Store
}

// Now is the time of a write, Unix nanoseconds.
func (w *Writer) Now() int64 { return w.Clock.Now().UnixNano() }

// Decider repeats writes whose answers were lost.
func (w *Writer) Decider() decide.Writer {
	return decide.Writer{Clock: w.Clock, Commit: w.Committer.Commit, Host: w.Host, Logger: w.Logger}
}

// Commit makes the effects of operations durable. An error means that none of them took effect, unless
// the host has ended.
func (w *Writer) Commit(write journal.Write) error {
	if IsEmpty(&write) {
		return nil
	}
	w.Fault.Pass(faultpoint.EntityBeforeCommit)
	_, err := w.Committer.Commit(write)
	w.Metrics.Commits.WithLabelValues(metric.Result(err)).Inc()
	if errors.Is(err, journal.ErrUndecided) {
		_, err = w.Decider().Repeat(w.Host.Context(), write, w.took(&write))
	}
	if err != nil {
		return err
	}
	w.Fault.Pass(faultpoint.EntityAfterCommit)
	w.TellCallers(&write)
	return nil
}

// TellCallers tells workflows of the answers in a write, which is durable.
func (w *Writer) TellCallers(write *journal.Write) {
	if results := slices.DeleteFunc(slices.Clone(write.Send), func(s journal.Sent) bool {
		return s.Kind != journal.ResultMessage
	}); len(results) > 0 {
		w.Callers.Answered(results)
	}
}
