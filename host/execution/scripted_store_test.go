package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cruster/cruster/journal"
)

// replaceableCommitter is a committer in whose place a test may put another.
type replaceableCommitter struct{ Committer }

// replaceableStore is a store in whose place a test may put another.
type replaceableStore struct{ Store }

// scriptedCommitter commits one write at a time, or loses the answer, the write, or the store.
type scriptedCommitter struct {
	store  journal.Store
	fences []journal.Fence
	seen   func(w journal.Write) // if set, it looks at each write first

	mu sync.Mutex
	// guarded by mu; what happens once behind the commit that ends a run of an execution, before the mishap that the
	// host has then; nil if nothing does
	behindEnd       func(run journal.RunID)
	behindEndOf     journal.ID // guarded by mu
	behindEndMishap string     // guarded by mu; lose, panic, or late: none

	next    []string // guarded by mu; what becomes of the next commits
	crowded bool     // guarded by mu; many others commit at the same time
	count   int      // guarded by mu; commits that took effect
	took    []string // guarded by mu; their writes, since last asked for
}

func (c *scriptedCommitter) Commit(w journal.Write) (journal.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen != nil {
		c.seen(w)
	}
	mishap := ""
	if len(c.next) > 0 {
		mishap, c.next = c.next[0], c.next[1:]
	}
	switch mishap {
	case "drop":
		return journal.Result{}, fmt.Errorf("commit: %w", journal.ErrUndecided)
	case "fail":
		return journal.Result{}, errors.New("no connection")
	}
	w.Fence = c.fences[w.ID.Shard()]
	results, err := c.store.Commit(context.Background(), []journal.Write{w})
	if err != nil {
		return journal.Result{}, err
	}
	if results[0].Err == nil && !results[0].Existed {
		c.count++
		c.took = append(c.took, writtenText(w))
	}
	if do := c.behindEnd; do != nil && w.ID == c.behindEndOf && w.Update != nil && w.Update.State.Final() &&
		results[0].Err == nil {
		c.behindEnd = nil
		do(w.Run)
		if mishap = c.behindEndMishap; mishap == "panic" {
			panic("injected behind an end")
		}
	}
	if mishap == "lose" {
		return journal.Result{}, fmt.Errorf("commit: %w", journal.ErrUndecided)
	}
	return results[0], results[0].Err
}

// doBehindEnd decides what happens behind the commit that ends the next run of an execution. It must not commit by c.
func (c *scriptedCommitter) doBehindEnd(of journal.ID, do func(run journal.RunID), mishap string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behindEndOf, c.behindEnd, c.behindEndMishap = of, do, mishap
}

// isToDoBehindEnd tells whether it has not happened yet.
func (c *scriptedCommitter) isToDoBehindEnd() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behindEnd != nil
}

// Shares implements Committer.
func (c *scriptedCommitter) Shares() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crowded
}

// writtenText renders the changes of a write: entries, and the row.
func writtenText(w journal.Write) string {
	if w.Start != nil {
		return "the start"
	}
	var parts []string
	for _, en := range w.Entries {
		parts = append(parts, fmt.Sprintf("entry %d", en.Seq))
	}
	switch {
	case w.Receive == nil:
	case w.Receive.Kind == journal.SettleMessage:
		parts = append(parts, "a settlement")
	default:
		parts = append(parts, "a message")
	}
	if len(w.Take) > 0 {
		parts = append(parts, fmt.Sprint(len(w.Take), " taken"))
	}
	if len(w.Hold) > 0 {
		parts = append(parts, fmt.Sprint(len(w.Hold), " held"))
	}
	if len(w.Receipts) > 0 {
		parts = append(parts, fmt.Sprint(len(w.Receipts), " receipts"))
	}
	if w.Publish != nil {
		parts = append(parts, "what is published")
	}
	if n := len(slices.DeleteFunc(slices.Clone(w.Send), func(s journal.Sent) bool { return !s.Kind.Stops() })); n > 0 {
		parts = append(parts, fmt.Sprint(n, " to stop"))
	}
	if w.Update == nil && w.Receive != nil {
		return strings.Join(append(parts, "the wake time"), ", ")
	}
	if w.Continue != nil {
		return strings.Join(append(parts, "another run"), ", ")
	}
	if w.Update == nil {
		return strings.Join(append(parts, "the row is left alone"), ", ")
	}
	return strings.Join(append(parts, "the row"), ", ")
}

// failingLoads is a store that cannot be read for a while.
type failingLoads struct {
	journal.Store
	f *fixture
}

func (s *failingLoads) Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error) {
	m, err := s.Store.Message(ctx, to, position)
	if err == nil && m.Kind.Stops() {
		err = s.failOf(&s.f.noStops)
	}
	if err != nil || m.Kind != journal.SettleMessage {
		return m, err
	}
	if err := s.fail(); err != nil {
		return nil, err
	}
	s.f.mu.Lock()
	s.f.reads++
	s.f.mu.Unlock()
	return m, nil
}

func (s *failingLoads) Published(ctx context.Context, run journal.RunKey) (*journal.Published, error) {
	s.f.note("store", "what was published is read")
	return s.Store.Published(ctx, run)
}

func (s *failingLoads) Inbox(ctx context.Context, to journal.Receiver, from uint64) ([]journal.Envelope, error) {
	if row, err := s.Store.Load(ctx, to.ID); err == nil && to == row.Settlements() {
		if err := s.fail(); err != nil {
			return nil, err
		}
		return s.Store.Inbox(ctx, to, from)
	}
	inbox, err := s.Store.Inbox(ctx, to, from)
	s.looked("inbox")
	return inbox, err
}

func (s *failingLoads) FindMessage(
	ctx context.Context, to journal.Receiver, origin journal.Origin,
) (*journal.FoundMessage, error) {
	found, err := s.Store.FindMessage(ctx, to, origin)
	s.looked("inbox")
	return found, err
}

func (s *failingLoads) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	receipt, err := s.Store.Receipt(ctx, id, origin)
	s.looked("receipt")
	return receipt, err
}

// looked runs the hook behind the next look for something.
func (s *failingLoads) looked(what string) {
	s.f.mu.Lock()
	do := s.f.looked[what]
	delete(s.f.looked, what)
	s.f.mu.Unlock()
	if do != nil {
		do()
	}
}

func (s *failingLoads) fail() error { return s.failOf(&s.f.noLoads) }

// failOf fails while any of so many failures are left.
func (s *failingLoads) failOf(left *int) error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if *left == 0 {
		return nil
	}
	*left--
	return errors.New("no connection")
}
