package execution

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/residency"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

const (
	// maxQuerying bounds the queries that are being answered: each has a copy of a guest.
	maxQuerying = 8
	// queryLimit bounds how long an answer may compute. It only looks; and an endless answer holds
	// a slot that turns wait for.
	queryLimit = time.Second
)

// queryReply is the reply to a queryRequest.
type queryReply struct {
	outcome abi.Outcome
	err     error
}

// Queries asks executions questions.
type Queries struct {
	deps      *Deps
	guests    *guests
	resident  *residency.List
	runs      *registry
	places    *semaphore.Weighted // of queries that are being answered
	answering answering
}

func newQueries(deps *Deps, runs *registry, guests *guests, resident *residency.List) *Queries {
	return &Queries{
		deps: deps, guests: guests, resident: resident, runs: runs, places: semaphore.NewWeighted(maxQuerying),
		answering: answering{all: map[journal.RunID]map[int]context.CancelCauseFunc{}},
	}
}

// Query asks a running execution a question. Its workflow answers from its current state; nothing
// is written, and nothing is changed.
//
// The answer is computed by a copy of the guest, as it was after its last turn. The guest itself cannot be asked:
// whatever the answer allocates, and each random number it draws, such as for the order of a map, would be there in
// this instance and in none that is replayed.
//
// An answer is broken off when its caller stops waiting, and when the execution is ended.
func (qs *Queries) Query(ctx context.Context, ref request.Ref, q abi.Query) (abi.Outcome, error) {
	if err := qs.deps.Host.Accepting(); err != nil {
		return abi.Outcome{}, err
	}
	reply := make(chan queryReply, 1)
	qs.runs.Post(ref.ID, addressed(ref, queryRequest{ctx, q, reply}))
	select {
	case r := <-reply:
		return r.outcome, r.err
	case <-ctx.Done():
		return abi.Outcome{}, journal.Coded("query "+ref.Name, ctx.Err())
	case <-qs.deps.Host.Context().Done():
		return abi.Outcome{}, qs.deps.Host.EndReason()
	}
}

// query has a question answered.
func (r *run) query(m queryRequest) {
	switch {
	case m.caller.Err() != nil:
		return
	case r.row.State.Final():
		answer(m.reply, queryReply{err: request.AlreadyOver(r.row)})
		return
	case r.row.State == journal.Paused:
		answer(m.reply, queryReply{err: abi.Errorf(abi.CodePaused, "%s is paused", r.row.Name())})
		return
	case !r.life.begun():
		r.hand.requeue(ofChain{r.chain, m}) // behind its first turn
		return
	}
	if !r.execs.Queries.places.TryAcquire(1) {
		answer(m.reply, queryReply{err: abi.Errorf(abi.CodeOverloaded, "%d queries are being answered", maxQuerying)})
		return
	}
	reply, later := r.answerQuery(m)
	if !later {
		r.execs.Queries.places.Release(1)
		answer(m.reply, reply)
	}
}

// answerQuery answers a question, or has that done beside the run: then later is true.
func (r *run) answerQuery(m queryRequest) (reply queryReply, later bool) {
	ctx, end := r.cancelable()
	defer end()
	ctx, cancel := endWith(ctx, m.caller)
	defer cancel()
	if err := r.ensureGuest(ctx); err != nil {
		r.instance.drop()
		return queryReply{err: journal.Coded("query "+r.row.Name(), err)}, false
	}
	saved, err := r.instance.guest.Save()
	if errors.Is(err, wasm.ErrNoState) {
		// There are no copies here. It answers itself, and is replayed when it is needed.
		reply = r.execs.Queries.askGuest(ctx, r.row.Namespace, r.instance.guest, &m.query)
		r.instance.drop()
		return reply, false
	}
	if err != nil {
		return queryReply{err: journal.Coded("query "+r.row.Name(), err)}, false
	}
	row := *r.row
	ctx, answering := r.execs.Queries.answering.begin(r.execs.Host.Context(), row.Run)
	if !r.execs.group.Go(func() {
		defer r.execs.Queries.places.Release(1)
		defer answering()
		ctx, cancel := endWith(ctx, m.caller)
		defer cancel()
		var reply queryReply
		if f := guarded(func() { reply = r.execs.Queries.askCopy(ctx, &row, saved, &m.query) }); f != nil {
			reply.err = abi.Errorf(abi.CodeInternal, "the host failed while it answered a query: %s", f.What)
		}
		if reply.err != nil && errors.Is(context.Cause(ctx), errEnded) {
			reply.err = abi.Errorf(abi.CodeAlreadyOver, "%s was ended while it answered", row.Name())
		}
		answer(m.reply, reply)
	}) {
		answering()
		return queryReply{err: r.execs.Host.EndReason()}, false
	}
	return queryReply{}, true
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

// askCopy asks a copy of a guest.
func (qs *Queries) askCopy(
	ctx context.Context, row *journal.Execution, saved *guest.Saved, q *abi.Query,
) (reply queryReply) {
	opening, err := qs.deps.Programs.Open(ctx, row)
	if err != nil {
		return queryReply{err: err}
	}
	var copied *admitted
	_, err = qs.guests.admit(
		ctx, row.Namespace, max(opening.Bytes, saved.Bytes()), qs.resident.Admit, func(g *admitted) { copied = g },
		opening.Restoring(saved), func(context.Context, Guest) (guest.Turn, error) { return guest.Turn{}, nil },
	)
	if copied != nil {
		defer copied.Close()
	}
	if err != nil {
		return queryReply{err: journal.Coded("query "+row.Name(), err)}
	}
	return qs.askGuest(ctx, row.Namespace, copied, q)
}

// askGuest asks a guest, which cannot go on after that.
func (qs *Queries) askGuest(ctx context.Context, namespace string, g Guest, q *abi.Query) (reply queryReply) {
	err := qs.deps.Slots.ComputeFor(ctx, queryLimit, func(ctx context.Context) error {
		turn, err := qs.guests.metered(ctx, namespace, func(ctx context.Context) (guest.Turn, error) {
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
