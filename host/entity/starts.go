package entity

import (
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/journal"
)

// starting has the workflows started that operations of an entity have asked for.
type starting struct {
	wanted  bool // there are some
	running bool // they are being started
	// misfits counts how often each start was refused for a reason that does not pass, by position; the
	// task's while it is at work.
	misfits map[uint64]int
	pause   pause
}

// begin has the workflows started.
func (s *starting) begin(w *workers, id journal.ID) {
	if !s.wanted || s.running || s.pause.until != 0 {
		return
	}
	s.running = w.begin(id, w.working, func() message {
		return startsDone{fault.Guard(func() error { return w.starter.StartAll(id, s.misfits) })}
	})
	s.wanted = !s.running
}

// end has starts that were not performed tried again later.
func (s *starting) end(w *workers, id journal.ID, err error) {
	s.running = false
	if err == nil {
		s.pause = pause{}
		clear(s.misfits) // none is left, also if the answer to the commit that parked it was lost
		return
	}
	s.wanted = true
	w.setback(&s.pause, id, "start workflows", err)
}
