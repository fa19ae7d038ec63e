package execution

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

const (
	// maxQuerying bounds the queries that are being answered: each has a copy of a guest.
	maxQuerying = 8
	// queryLimit bounds how long an answer may compute. It only looks; and an endless answer holds
	// a slot that turns wait for.
	queryLimit = time.Second
)

// answers computes the answers to queries, with copies of guests.
type answers struct {
	instances *instance.Deps
	slots     *guest.Slots
	places    *semaphore.Weighted // of queries that are being answered
	answering answering
}

func newAnswers(instances *instance.Deps, slots *guest.Slots) *answers {
	return &answers{
		instances: instances, slots: slots, places: semaphore.NewWeighted(maxQuerying),
		answering: answering{all: map[journal.RunID]map[int]context.CancelCauseFunc{}},
	}
}

// askCopy asks a copy of a guest.
func (as *answers) askCopy(
	ctx context.Context, row *journal.Execution, saved *guest.Saved, q *abi.Query,
) (reply queryReply) {
	opening, err := as.instances.Open(ctx, row)
	if err != nil {
		return queryReply{err: err}
	}
	restore := func(ctx context.Context, memory guest.Memory) (Guest, error) {
		memory.Ops = nil // the host has the ops once, and the run has paid for them
		return opening.Restore(ctx, memory, saved)
	}
	var copied *instance.Admitted
	keep := func(g *instance.Admitted) { copied = g }
	nothing := func(context.Context, Guest) (guest.Turn, error) { return guest.Turn{}, nil }
	_, err = as.instances.Guests.Admit(
		ctx, row.Namespace, max(opening.Bytes, saved.Bytes()), as.instances.Resident.Admit, keep,
		restore, nothing,
	)
	if copied != nil {
		defer copied.Close()
	}
	if err != nil {
		return queryReply{err: journal.Coded("query "+row.Name(), err)}
	}
	return as.askGuest(ctx, row.Namespace, copied, q)
}

// askGuest asks a guest, which cannot go on after that.
func (as *answers) askGuest(ctx context.Context, namespace string, g Guest, q *abi.Query) (reply queryReply) {
	err := as.slots.ComputeFor(ctx, queryLimit, func(ctx context.Context) error {
		turn, err := as.instances.Guests.Metered(ctx, namespace, func(ctx context.Context) (guest.Turn, error) {
			return g.Query(ctx, q)
		})
		if err == nil {
			reply.outcome = *turn.Outcome
		}
		return err
	})
	if err != nil {
		return queryReply{err: err}
	}
	return reply
}

// errEnded says that an execution was ended while a copy of its guest answered.
var errEnded = errors.New("execution: it was ended")

// answering are the answers that copies of guests compute beside their runs, which may leave memory meanwhile.
type answering struct {
	mu  sync.Mutex
	all map[journal.RunID]map[int]context.CancelCauseFunc // guarded by mu
	n   int                                               // guarded by mu; answers so far
}

// begin is the context of an answer, until end is called.
func (a *answering) begin(ctx context.Context, of journal.RunID) (answer context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[of] == nil {
		a.all[of] = map[int]context.CancelCauseFunc{}
	}
	a.n++
	n := a.n
	a.all[of][n] = cancel
	return ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		cancel(nil)
		if delete(a.all[of], n); len(a.all[of]) == 0 {
			delete(a.all, of)
		}
	}
}

// breakOff ends the answers of a run that was ended.
func (a *answering) breakOff(of journal.RunID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, cancel := range a.all[of] {
		cancel(errEnded)
	}
}

// endWith is a context that ends also when the caller does.
func endWith(ctx, caller context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(caller, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
