package recovery

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

const (
	scanEvery = time.Minute
	// lookEvery is how often the clock is looked at between two scans: if it was set, or the machine was suspended,
	// more may be due than the timers know.
	lookEvery = 5 * time.Second
	scanPage  = 1000
	// scanRetry is the pause after a scan that the store failed.
	scanRetry = time.Second
	// roomPoll is how often a full host is asked for room.
	roomPoll = 10 * time.Millisecond
	// roomPatience is how long an execution waits for room at the head of the scan.
	roomPatience = time.Second
)

// DueReader lists executions by their wake time: see [journal.Store].
type DueReader interface {
	Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error)
}

// MailReader lists executions that have mail which their owners have not looked at: see [journal.Store].
type MailReader interface {
	MailReceivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error)
}

// Executions takes due executions.
type Executions interface {
	InMemory(id journal.ID) bool
	EnsureInMemory(id journal.ID)
}

// Timers takes executions that are due soon: see the window of host/timer.
type Timers interface {
	Open(until int64)
	Fill(id journal.ID, at int64) bool
	NextFill() int64
}

// Scanner brings back the executions that were running when the last owner ended. From then on it
// scans the store now and then for executions that are soon due and not in memory.
//
// Overdue executions wait for room, executions that come due wait for nothing: a timer takes no
// room. So there are two concurrent scans, and a full host, or a row that cannot be brought back,
// holds up no timer. Nor does it hold up the overdue rows behind it: an execution in memory is
// woken first, and one with a long wait for room is brought back all the same. Were it not, a host
// full of executions that wait for an overdue one would wait forever.
type Scanner struct {
	Clock      clockwork.Clock
	Executions Executions
	// HasRoom tells whether another execution fits into memory.
	HasRoom func() bool
	Logger  *slog.Logger
	// Mail, if set, tells which executions have mail that they have not looked at, and WakeForMail has one look for it.
	Mail        MailReader
	WakeForMail func(id journal.ID)
	// Scanned, if set, is told when a scan has woken all due executions.
	Scanned func()
	Store   DueReader
	Timers  Timers
}

// Run recovers until ctx ends.
func (s *Scanner) Run(ctx context.Context) {
	var waking sync.WaitGroup
	defer waking.Wait()
	idle := make(chan struct{}, 1)
	idle <- struct{}{}
	for ctx.Err() == nil {
		s.fillTimers(ctx)
		select {
		case <-idle:
			waking.Go(func() {
				s.wakeOverdue(ctx)
				idle <- struct{}{}
			})
		default: // the scan before waits for room
		}
		s.awaitScan(ctx)
	}
}

// awaitScan waits until the next scan is due, by the wall clock, or the timers can take more. A clock that was set back
// would have the next scan wait until the time that it had shown: then it is due at once.
func (s *Scanner) awaitScan(ctx context.Context) {
	before := s.Clock.Now().UnixNano()
	next := before + int64(scanEvery)
	for ctx.Err() == nil {
		now := s.Clock.Now().UnixNano()
		left := min(next, s.Timers.NextFill()) - now
		if left <= 0 || now < before {
			return
		}
		before = now
		timer.Wait(ctx, s.Clock, min(lookEvery, time.Duration(left)))
	}
}

// fillTimers goes through the executions that come due within the horizon, as far as there may be
// timers for them.
func (s *Scanner) fillTimers(ctx context.Context) {
	now := s.Clock.Now()
	until := now.Add(timer.Horizon).UnixNano()
	s.Timers.Open(until)
	after := journal.Wake{At: now.UnixNano()}
	for page, more := s.read(ctx, until, after); ; page, more = s.read(ctx, until, after) {
		for _, w := range page {
			if !s.Timers.Fill(w.ID, w.At) {
				return // nor is there one for any that is due later
			}
			after = w
		}
		if !more {
			return
		}
	}
}

// wakeOverdue wakes the executions that are due, and beside them the receivers of callees' results:
// neither waits for room for the other. Executions to be loaded at once should be in memory: the
// run that wrote that wake time is there. They are looked for all the same, because a wake-up that
// was lost would otherwise be lost for ever.
func (s *Scanner) wakeOverdue(ctx context.Context) {
	var receivers sync.WaitGroup
	if s.Mail != nil {
		receivers.Go(func() { s.wakeReceivers(ctx) })
	}
	until := s.Clock.Now().UnixNano()
	absent := false
	s.eachDue(ctx, until, func(id journal.ID) {
		if s.Executions.InMemory(id) {
			s.Executions.EnsureInMemory(id)
		} else {
			absent = true
		}
	})
	if absent {
		s.eachDue(ctx, until, func(id journal.ID) {
			if !s.Executions.InMemory(id) {
				s.awaitRoom(ctx, id)
				s.Executions.EnsureInMemory(id)
			}
		})
	}
	receivers.Wait()
	if s.Scanned != nil && ctx.Err() == nil {
		s.Scanned()
	}
}

// eachDue goes through the executions that are due, page by page.
func (s *Scanner) eachDue(ctx context.Context, until int64, do func(id journal.ID)) {
	var after journal.Wake
	for more := true; more; {
		var page []journal.Wake
		page, more = s.read(ctx, until, after)
		for _, w := range page {
			do(w.ID)
			after = w
		}
	}
}

// wakeReceivers has executions look into their inboxes to which results or requests to stop were
// sent. The senders have told them, as a rule; this covers sends interrupted by a crash. Receivers in
// memory are told first.
func (s *Scanner) wakeReceivers(ctx context.Context) {
	var after journal.ID
	for more := true; more; {
		var page, absent []journal.ID
		page, more = readPage(ctx, s, func() ([]journal.ID, error) {
			return s.Mail.MailReceivers(ctx, after, scanPage)
		})
		for _, id := range page {
			if s.Executions.InMemory(id) {
				s.WakeForMail(id)
			} else {
				absent = append(absent, id)
			}
			after = id
		}
		for _, id := range absent {
			s.awaitRoom(ctx, id)
			s.WakeForMail(id)
		}
	}
}

// read reads a page of due executions.
func (s *Scanner) read(ctx context.Context, until int64, after journal.Wake) (page []journal.Wake, more bool) {
	return readPage(ctx, s, func() ([]journal.Wake, error) { return s.Store.Due(ctx, until, after, scanPage) })
}

// readPage reads a page, however long that takes. More tells whether there is another.
func readPage[T any](ctx context.Context, s *Scanner, read func() ([]T, error)) (page []T, more bool) {
	for ctx.Err() == nil {
		page, err := read()
		if err == nil {
			return page, len(page) == scanPage
		}
		s.Logger.Warn("looking for due executions failed; trying again", "error", err)
		timer.Wait(ctx, s.Clock, scanRetry)
	}
	return nil, false
}

// awaitRoom waits while the host is full: recovery must not load executions while clients are
// refused.
func (s *Scanner) awaitRoom(ctx context.Context, id journal.ID) {
	for waited := time.Duration(0); waited < roomPatience; waited += roomPoll {
		if ctx.Err() != nil || s.HasRoom() || s.Executions.InMemory(id) {
			return
		}
		timer.Wait(ctx, s.Clock, roomPoll)
	}
}
