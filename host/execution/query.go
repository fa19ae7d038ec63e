package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Queries asks executions questions.
type Queries struct {
	boxes boxes
	host  *hoststate.State
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
	if err := qs.host.Accepting(); err != nil {
		return abi.Outcome{}, err
	}
	reply := make(chan queryReply, 1)
	qs.boxes.Post(ref.ID, addressed(ref, queryRequest{ctx, q, reply}))
	select {
	case r := <-reply:
		return r.outcome, r.err
	case <-ctx.Done():
		return abi.Outcome{}, journal.Coded("query "+ref.Name, ctx.Err())
	case <-qs.host.Context().Done():
		return abi.Outcome{}, qs.host.EndReason()
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
	if !r.deps.answers.places.TryAcquire(1) {
		answer(m.reply, queryReply{err: abi.Errorf(abi.CodeOverloaded, "%d queries are being answered", maxQuerying)})
		return
	}
	reply, later := r.answerQuery(m)
	if !later {
		r.deps.answers.places.Release(1)
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
		r.instance.Drop()
		if abi.CodeOf(err) == abi.CodeOverloaded && r.instance.CountsOps() {
			// Its own ops may have the memory that a guest needs which issues them again. A load gives it back first.
			r.deps.answers.places.Release(1)
			r.reload(ledger.Batch{})
			r.hand.requeue(ofChain{r.chain, m})
			return queryReply{}, true
		}
		return queryReply{err: journal.Coded("query "+r.row.Name(), err)}, false
	}
	saved, err := r.instance.Guest().Save()
	if errors.Is(err, wasm.ErrNoState) {
		// There are no copies here. It answers itself, and is replayed when it is needed.
		reply = r.deps.answers.askGuest(ctx, r.row.Namespace, r.instance.Guest(), &m.query)
		r.instance.Drop()
		return reply, false
	}
	if err != nil {
		return queryReply{err: journal.Coded("query "+r.row.Name(), err)}, false
	}
	row := *r.row
	ctx, answering := r.deps.answers.answering.begin(r.deps.Host.Context(), row.Run)
	if !r.deps.group.Go(func() {
		defer r.deps.answers.places.Release(1)
		defer answering()
		ctx, cancel := endWith(ctx, m.caller)
		defer cancel()
		var reply queryReply
		if f := guarded(func() { reply = r.deps.answers.askCopy(ctx, &row, saved, &m.query) }); f != nil {
			reply.err = abi.Errorf(abi.CodeInternal, "the host failed while it answered a query: %s", f.What)
		}
		if reply.err != nil && errors.Is(context.Cause(ctx), errEnded) {
			reply.err = abi.Errorf(abi.CodeAlreadyOver, "%s was ended while it answered", row.Name())
		}
		answer(m.reply, reply)
	}) {
		answering()
		return queryReply{err: r.deps.Host.EndReason()}, false
	}
	return queryReply{}, true
}
