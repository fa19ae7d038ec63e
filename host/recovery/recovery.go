package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

const (
	scanEvery = time.Minute
	// lookEvery is how often the clock is looked at between two scans: if it was set, or
	// the machine was suspended, more may be due than the timers know.
	lookEvery = 5 * time.Second
	scanPage  = 1000
	// scanRetry is the pause after a scan that the store failed.
	scanRetry = time.Second
	// roomPoll is how often a full host is asked for room.
	roomPoll = 10 * time.Millisecond
)

// DueReader lists executions by their wake time: see [journal.Store].
type DueReader interface {
	Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error)
}

// Executions takes what is due.
type Executions interface {
	InMemory(id journal.ID) bool
	EnsureInMemory(id journal.ID)
}

// Timers takes what is due soon: see the window of host/timer.
type Timers interface {
	Open(until int64)
	Fill(id journal.ID, at int64) bool
	NextFill() int64
}

// Scanner brings back what was running when the last owner ended. From then on it
// looks into the store now and then for executions that are soon due and not in
// memory.
type Scanner struct {
	Clock      clockwork.Clock
	Executions Executions
	// HasRoom tells whether another execution fits into memory.
	HasRoom func() bool
	Logger  *slog.Logger
	// Scanned, if set, is told when a scan has woken all that was due.
	Scanned func()
	Store   DueReader
	Timers  Timers
}

// Run recovers until ctx ends.
func (s *Scanner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		// What is to be loaded at once should be in memory: the run that wrote that
		// wake time is there. It is looked for all the same, because a wake-up that
		// was lost would otherwise be lost for ever.
		s.scan(ctx)
		if s.Scanned != nil && ctx.Err() == nil {
			s.Scanned()
		}
		s.awaitScan(ctx)
	}
}

// awaitScan waits until the next scan is due, by the wall clock, or the timers can take
// more. A clock that was set back would have the next scan wait until the time that it had shown: then it
// is due at once.
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

// scan goes through the executions that are due within the horizon, as far as there may be
// timers for them.
func (s *Scanner) scan(ctx context.Context) {
	until := s.Clock.Now().Add(timer.Horizon).UnixNano()
	s.Timers.Open(until)
	var after journal.Wake
	for ctx.Err() == nil {
		page, err := s.Store.Due(ctx, until, after, scanPage)
		if err != nil {
			s.Logger.Warn("looking for due executions failed; trying again", "error", err)
			timer.Wait(ctx, s.Clock, scanRetry)
			continue
		}
		for _, w := range page {
			if !s.wakeDue(ctx, w) {
				return
			}
		}
		if len(page) < scanPage {
			return
		}
		after = page[len(page)-1]
	}
}

// wakeDue has an execution woken at its time. It waits while the host is full:
// recovery must not do what is refused to clients. It reports false if there is no timer
// to be had for it, nor for any that is due later.
func (s *Scanner) wakeDue(ctx context.Context, w journal.Wake) bool {
	if w.At > s.Clock.Now().UnixNano() {
		return s.Timers.Fill(w.ID, w.At)
	}
	for !s.HasRoom() && !s.Executions.InMemory(w.ID) && ctx.Err() == nil {
		timer.Wait(ctx, s.Clock, roomPoll)
	}
	s.Executions.EnsureInMemory(w.ID)
	return true
}
