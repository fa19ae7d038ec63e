package task

import (
	"context"
	"sync"

	"github.com/cruster/cruster/journal"
)

// starting are the tasks that may be starting a callee.
type starting struct {
	mu  sync.Mutex
	all map[journal.Caller]chan struct{} // guarded by mu; closed when the task has ended
}

// begin notes a task of a step, before it works. The caller calls end when the task has ended. A
// step has one task at a time, but a given-up task may still be running: the next one follows it.
func (s *starting) begin(step journal.Caller) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[journal.Caller]chan struct{}{}
	}
	before, over := s.all[step], make(chan struct{})
	s.all[step] = over
	return func() {
		if before != nil {
			<-before
		}
		close(over)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.all[step] == over {
			delete(s.all, step)
		}
	}
}

// await waits until no task is at work for a step, or for any of a run if there is no step.
func (s *starting) await(ctx context.Context, of journal.Caller) error {
	for _, over := range s.of(of) {
		select {
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *starting) of(of journal.Caller) (all []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.Step != (journal.StepID{}) {
		if over := s.all[of]; over != nil {
			return []<-chan struct{}{over}
		}
		return nil
	}
	for step, over := range s.all {
		if step.Run == of.Run {
			all = append(all, over)
		}
	}
	return all
}
