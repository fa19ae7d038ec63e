package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

const (
	defaultMaxBatch  = 512
	defaultBatchSize = 8 << 20
	defaultTimeout   = 30 * time.Second
	// stateBatchSize bounds the bytes of saved states in one transaction, if they are several: on a store with one
	// writer steps wait for it.
	stateBatchSize = 256 << 10
)

// BatchCommitter is the part of a store that a [Committer] needs.
type BatchCommitter interface {
	// Commit applies writes in one transaction, each checked against the fence of its shard inside that transaction.
	// The result has one element a write. An error means that none of them took effect, unless it is ErrUndecided.
	Commit(ctx context.Context, writes []Write) ([]Result, error)
	// CommitsAtOnce is how many transactions the store can be busy with at once; 1 if they would only wait for each
	// other.
	CommitsAtOnce() int
}

// CommitterOptions configure a Committer.
type CommitterOptions struct {
	// Clock measures transactions and the pauses between retries. Defaults to the real clock.
	Clock clockwork.Clock
	// Logger receives panics of the store. Defaults to slog.Default.
	Logger *slog.Logger
	// MaxBatch bounds the writes of one transaction. Defaults to 512.
	MaxBatch int
	// MaxBytes bounds the bytes of one transaction; a single Write may exceed it. Defaults to 8 MiB.
	MaxBytes int
	// Observe is told of every transaction, successful or not. It is called by the committing goroutines, several at
	// once, and must not block. Defaults to none.
	Observe func(CommitStats)
	// Timeout bounds one transaction: a store that cannot finish it in time gives it up. A store that knows its limits
	// better has shorter ones. Defaults to 30 seconds.
	Timeout time.Duration
}

// CommitStats describes one transaction of a Committer.
type CommitStats struct {
	Writes   int
	Entries  int
	Bytes    int
	Duration time.Duration
	Err      error
}

// Committer gathers the Writes of many executions into few transactions: group commit.
//
// # Invariants
//
//  1. Commit returns without an error only after the store acknowledged a
//     transaction that holds the whole Write.
//  2. Commit returns with an error other than ErrUndecided only if nothing of
//     the Write took effect.
//  3. Two Writes of one execution that were handed over one after the other are
//     applied in that order. Writes that do nothing but save the state of a guest
//     keep it among themselves only.
//  4. A Write never fails because of its neighbours in a batch, nor because of another
//     batch.
//  5. Every caller gets an answer, also if the store panics.
//
// # Design
//
// The naive design gives every caller a transaction of its own. Each then pays a flush of the disk, and on a store with
// one writer they queue for it: 64 executions that are ready at once wait for 64 flushes. A timer that collects writes
// for, say, 2 ms shares the flush but delays every write, also the write of a single execution, and that is the first
// thing that a new user tries.
//
// Instead, callers append to a queue. One goroutine takes all that is there, commits it as one transaction, answers,
// and looks again. While a commit is under way the next batch fills by itself. There is no timer: a single execution is
// committed at once, and the busier the host, the larger its batches. The time of one flush is the only delay.
//
// Before it takes, it steps back behind all that could run at this moment, as long as that brings
// writes and there are fewer of them than it has just answered. The scheduler runs a goroutine that
// was woken next, before the ready ones: without that, the first of 30 callers that were just
// answered comes back with its next write, wakes the committer and has a flush of its own, while
// the other 29 wait for the processor that waits for the disk. A single execution is never waited
// for, and where a processor is free stepping back takes no time.
//
// # Several batches under way
//
// A database at the other end of a network is waited for, not worked for: while one transaction is
// on its way another can be. So a store says how many it takes at once, and as many goroutines take
// from the queue. Each batch is a transaction of its own with its own check of the fence, and its
// outcome decides about its own writes alone. The order of an execution's writes, free with one
// transaction, has to be kept: a write is not taken while a batch with another of the same
// execution is in flight, until that is decided with all its retries, and neither are the writes
// behind it. Writes of different executions have no order unless a caller waited for one before it
// handed over the next, as a link to an execution waits for its start; then the first is decided
// before the second is queued.
//
// # States of guests
//
// A saved state has up to 8 MiB, nothing waits for it, and losing it loses nothing. In a batch with
// steps it makes them all wait until it is written. So writes that only save a state have a queue
// and transactions of their own, few bytes each, fenced like all. Steps may overtake them: a state
// says which entries it has seen, so that it is as good behind later ones. A state that comes after
// the end of its run is not kept by the store; a simultaneous one may be, and is swept with the
// run.
//
// # Failure
//
// A store reports the error of one Write (fenced, missing, duplicate) in its Result. An error of
// the batch as a whole is of four sorts:
//
//   - ErrConflict: the database rolled back because of others. The batch is
//     repeated whole, a few times, with a short growing pause.
//   - ErrUndecided: it may have been committed. Repeating could apply it twice,
//     so every caller in the batch gets ErrUndecided and has to look. A panic of
//     the store counts as this.
//   - ErrUnavailable: nothing took effect, and no write is to blame. All fail.
//   - anything else: nothing took effect, but perhaps because of a single Write
//     that the database cannot store. Each is tried alone, so that only the
//     poisoned one fails. If several in a row fail alone, the store is down, and
//     the rest fails without another try.
type Committer struct {
	store   BatchCommitter
	opts    CommitterOptions
	steps   *lane // all writes but those of states
	states  *lane // writes that do nothing but save the state of a guest
	workers sync.WaitGroup
}

type pendingWrite struct {
	write  Write
	answer chan committed // capacity 1: answering never blocks
	taken  bool           // guarded by the mutex of its lane
}

type committed struct {
	result Result
	err    error
}

var errCommitterStopped = errors.New("journal: the committer has stopped")

// NewCommitter starts a committer over store. Stop ends it.
func NewCommitter(store BatchCommitter, opts CommitterOptions) *Committer {
	if opts.Clock == nil {
		opts.Clock = clockwork.NewRealClock()
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.MaxBatch <= 0 {
		opts.MaxBatch = defaultMaxBatch
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = defaultBatchSize
	}
	if opts.Observe == nil {
		opts.Observe = func(CommitStats) {}
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	c := &Committer{
		store: store, opts: opts,
		steps:  newLane(opts.MaxBatch, opts.MaxBytes),
		states: newLane(opts.MaxBatch, min(opts.MaxBytes, stateBatchSize)),
	}
	for range max(1, store.CommitsAtOnce()) {
		c.workers.Go(func() { c.drain(c.steps) })
	}
	c.workers.Go(func() { c.drain(c.states) })
	return c
}

// Commit blocks until w is durable, or failed. Ctx only stops the waiting in the queue: once the write is on its way
// the answer is awaited, because giving up would leave the caller in doubt.
func (c *Committer) Commit(ctx context.Context, w Write) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("commit of execution %s: %w", w.ID, err)
	}
	l := c.steps
	if w.savesState() {
		l = c.states
	}
	p := &pendingWrite{write: w, answer: make(chan committed, 1)}
	if !l.add(p) {
		return Result{}, errCommitterStopped
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
	}
	if l.withdraw(p) {
		return Result{}, fmt.Errorf("commit of execution %s: %w", w.ID, ctx.Err())
	}
	a := <-p.answer
	return a.result, a.err
}

// Queued is how many writes wait for a batch.
func (c *Committer) Queued() int { return c.steps.waiting() + c.states.waiting() }

// Stop commits the queued writes, ends the committer and waits for it. Later Commits fail. It may
// be called more than once.
func (c *Committer) Stop() {
	c.steps.stop()
	c.states.stop()
	c.workers.Wait()
}

// drain commits incoming writes, batch by batch, until the lane is stopped and empty.
func (c *Committer) drain(l *lane) {
	for {
		batch := l.take()
		if len(batch) == 0 {
			return
		}
		c.commitBatch(batch)
		l.decided(batch)
	}
}

// commitBatch commits the batch and answers every caller in it.
func (c *Committer) commitBatch(batch []*pendingWrite) {
	next, err := c.attempt(batch)
	switch {
	case err == nil:
	case next == tryEachAlone:
		c.commitAlone(batch)
	default:
		answerAll(batch, err)
	}
}

// commitAlone gives every write of a batch that failed its own transaction.
func (c *Committer) commitAlone(batch []*pendingWrite) {
	failures := 0
	for i := range batch {
		_, err := c.attempt(batch[i : i+1])
		if err == nil {
			failures = 0
			continue
		}
		answerAll(batch[i:i+1], err)
		if failures++; storeIsDown(failures) {
			answerAll(batch[i+1:], err)
			return
		}
	}
}

// attempt commits the batch as one transaction, with retries, and answers every caller in it. If it returns an error it
// answered none of them, and next says how to go on.
func (c *Committer) attempt(batch []*pendingWrite) (next recovery, err error) {
	writes := make([]Write, len(batch))
	stats := CommitStats{Writes: len(batch)}
	for i, p := range batch {
		writes[i] = p.write
		stats.Entries += len(p.write.Entries)
		stats.Bytes += p.write.Size()
	}
	for tries := 1; ; tries++ {
		begin := c.opts.Clock.Now()
		results, err := c.callStore(writes)
		stats.Duration, stats.Err = c.opts.Clock.Since(begin), err
		c.opts.Observe(stats)
		if err == nil {
			for i, p := range batch {
				p.answer <- committed{results[i], results[i].Err}
			}
			return 0, nil
		}
		next, pause := afterFailure(err, len(batch), tries)
		if next != retryAll {
			return next, err
		}
		<-c.opts.Clock.After(pause)
	}
}

// callStore turns a panic of the store into an answer. The store's effects before the panic are not
// known, hence ErrUndecided.
func (c *Committer) callStore(writes []Write) (results []Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.opts.Logger.Error(
				"the store panicked in a commit", "panic", r, "writes", len(writes), "stack", string(debug.Stack()),
			)
			results, err = nil, fmt.Errorf("store panicked: %v: %w", r, ErrUndecided)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), c.opts.Timeout)
	defer cancel()
	results, err = c.store.Commit(ctx, writes)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUndecided) {
		// The limit is ours, not a caller's: the store failed.
		//nolint:errorlint // on purpose: see above
		return nil, fmt.Errorf("the store did not commit within %v: %v", c.opts.Timeout, err)
	}
	if err == nil && len(results) != len(writes) {
		return nil, fmt.Errorf("store answered %d of %d writes: %w", len(results), len(writes), ErrUndecided)
	}
	return results, err
}

func answerAll(batch []*pendingWrite, err error) {
	for _, p := range batch {
		p.answer <- committed{err: err}
	}
}
