package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

const (
	defaultMaxBatch  = 512
	defaultBatchSize = 8 << 20
	defaultTimeout   = 30 * time.Second
)

// BatchCommitter is the part of a store that a [Committer] needs.
type BatchCommitter interface {
	// Commit applies writes in one transaction, each checked against the fence
	// of its shard inside that transaction. The result has one element a write.
	// An error means that none of them took effect, unless it is ErrUndecided.
	Commit(ctx context.Context, writes []Write) ([]Result, error)
}

// CommitterOptions configure a Committer.
type CommitterOptions struct {
	// Clock measures transactions and the pauses between retries. Defaults to
	// the real clock.
	Clock clockwork.Clock
	// Logger receives panics of the store. Defaults to slog.Default.
	Logger *slog.Logger
	// MaxBatch bounds the writes of one transaction. Defaults to 512.
	MaxBatch int
	// MaxBytes bounds the bytes of one transaction; a single Write may exceed
	// it. Defaults to 8 MiB.
	MaxBytes int
	// Observe is told of every transaction, successful or not. It is called by
	// the committing goroutine and must not block. Defaults to none.
	Observe func(CommitStats)
	// Timeout bounds one transaction: a store that cannot finish it in time gives it
	// up. A store that knows its limits better has shorter ones. Defaults to 30
	// seconds.
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

// Committer gathers the Writes of many executions into few transactions: group
// commit.
//
// # Invariants
//
//  1. Commit returns without an error only after the store acknowledged a
//     transaction that holds the whole Write.
//  2. Commit returns with an error other than ErrUndecided only if nothing of
//     the Write took effect.
//  3. Two Writes of one execution that were handed over one after the other are
//     applied in that order.
//  4. A Write never fails because of its neighbours in a batch.
//  5. Every caller gets an answer, also if the store panics.
//
// # Design
//
// The naive design gives every caller a transaction of its own. Each then pays a
// flush of the disk, and on a store with one writer they queue for it: 64
// executions that are ready at once wait for 64 flushes. A timer that collects
// writes for, say, 2 ms shares the flush but delays every write, also that of a
// single execution, which is the first thing that a new user tries.
//
// Instead, callers append to a queue. One goroutine takes all that is there,
// commits it as one transaction, answers, and looks again. While a commit is
// under way the next batch fills by itself. There is no timer: a single execution
// is committed at once, and the busier the host, the larger its batches. The time
// of one flush is the only delay.
//
// # Failure
//
// A store reports what is wrong with one Write (fenced, missing, duplicate) in
// its Result. An error of the batch as a whole is of four sorts:
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
	done    chan struct{} // closed when the goroutine has returned
	arrived chan struct{} // capacity 1: the queue is not empty, or stopped is set

	mu      sync.Mutex
	queue   []*pendingWrite // guarded by mu
	stopped bool            // guarded by mu
}

type pendingWrite struct {
	write  Write
	answer chan committed // capacity 1: answering never blocks
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
	c := &Committer{store: store, opts: opts, done: make(chan struct{}), arrived: make(chan struct{}, 1)}
	go c.run()
	return c
}

// Commit blocks until w is durable, or failed. Ctx only stops the waiting in
// the queue: once the write is on its way the answer is awaited, because giving
// up would leave the caller in doubt.
func (c *Committer) Commit(ctx context.Context, w Write) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("commit of execution %s: %w", w.ID, err)
	}
	p := &pendingWrite{write: w, answer: make(chan committed, 1)}
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return Result{}, errCommitterStopped
	}
	c.queue = append(c.queue, p)
	c.mu.Unlock()
	c.wake()

	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
	}
	if c.withdraw(p) {
		return Result{}, fmt.Errorf("commit of execution %s: %w", w.ID, ctx.Err())
	}
	a := <-p.answer
	return a.result, a.err
}

// Queued is how many writes wait for the next batch.
func (c *Committer) Queued() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// Stop commits what is queued, ends the committer and waits for it. Later
// Commits fail. It may be called more than once.
func (c *Committer) Stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.wake()
	<-c.done
}

func (c *Committer) wake() {
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// withdraw takes p out of the queue; false if it is on its way already.
func (c *Committer) withdraw(p *pendingWrite) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, p)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	return true
}

func (c *Committer) run() {
	defer close(c.done)
	for {
		batch, stopped := c.take()
		if len(batch) == 0 {
			if stopped {
				return
			}
			<-c.arrived
			continue
		}
		c.commitBatch(batch)
	}
}

// take cuts the next batch off the head of the queue.
func (c *Committer) take() (batch []*pendingWrite, stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sizes := func(yield func(int) bool) {
		for _, p := range c.queue {
			if !yield(p.write.Size()) {
				return
			}
		}
	}
	n := cutBatch(sizes, c.opts.MaxBatch, c.opts.MaxBytes)
	if n == len(c.queue) {
		batch, c.queue = c.queue, nil
	} else {
		batch = slices.Clone(c.queue[:n])
		c.queue = slices.Delete(c.queue, 0, n)
	}
	return batch, c.stopped
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

// attempt commits the batch as one transaction, with retries, and answers every
// caller in it. If it returns an error it answered none of them, and next says
// how to go on.
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

// callStore turns a panic of the store into an answer. What the store did before
// it panicked is not known, hence ErrUndecided.
func (c *Committer) callStore(writes []Write) (results []Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.opts.Logger.Error("the store panicked in a commit", "panic", r, "writes", len(writes), "stack", string(debug.Stack()))
			results, err = nil, fmt.Errorf("store panicked: %v: %w", r, ErrUndecided)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), c.opts.Timeout)
	defer cancel()
	results, err = c.store.Commit(ctx, writes)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUndecided) {
		// The limit is ours, not a caller's: what failed is the store.
		return nil, fmt.Errorf("the store did not commit within %v: %v", c.opts.Timeout, err) //nolint:errorlint // on purpose: see above
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
