package execution

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// Trial is the outcome of replaying an execution on other code.
type Trial struct {
	// Misfit says why the code does not fit; nil if it does.
	Misfit *replay.Misfit

	waiting      []journal.StepID // steps the guest waits for at the end
	waitedBefore []journal.StepID // those among them that the execution waited for
	declined     []string         // changes of the code that the execution is behind
	did          replayed         // effects the run performs itself, in all turns
	end          replay.Position
}

// Try replays an execution on the code that open finds for it. It writes nothing, and takes no more memory than one execution.
func (x *Executions) Try(ctx context.Context, row *journal.Execution, open Opener) (Trial, error) {
	return x.try(ctx, row, part{whole: true}, open)
}

// part is a journal or a beginning of one.
type part struct {
	whole   bool
	entries []journal.Entry         // if it is not the whole
	later   map[journal.StepID]bool // the steps behind them
	// unanswered are the updates whose answers matter.
	unanswered message.Updates
}

// pages reads the entries, which are in memory already.
func (p part) pages(_ context.Context, after uint64) ([]journal.Entry, bool, error) {
	from, _ := slices.BinarySearchFunc(p.entries, after+1, func(en journal.Entry, seq uint64) int { return cmp.Compare(en.Seq, seq) })
	return p.entries[from:], false, nil
}

func (x *Executions) try(ctx context.Context, row *journal.Execution, of part, open Opener) (Trial, error) {
	reader := replay.NewReader(of.pages, math.MaxUint64)
	var pages *pages
	if of.whole {
		pages = x.pages(row.RunKey())
		defer pages.release()
		reader = replay.NewReader(pages.read, math.MaxUint64)
	}
	// All of the journal was delivered to other code.
	player := replay.NewPlayer(reader, math.MaxUint64, journal.Waiting{})
	player.Recovers(row.Waiting)
	did := replayed{unanswered: of.unanswered}
	var opened Opening
	turn, err := x.tryGuest(ctx, row, player, func(ctx context.Context, row *journal.Execution) (Opening, error) {
		var err error
		opened, err = open(ctx, row)
		return opened, err
	}, &did, func(ctx context.Context, due []journal.Entry) context.Context {
		return pages.handingOver(ctx, reader, due)
	})
	t := Trial{declined: player.Declined(), did: did, end: reader.Position()}
	before := player.Waited(row.Waiting)
	switch {
	case err == nil:
		t.Misfit = player.Fits(turn.Outcome, before, of.later, opened.HasActivity)
	case ctx.Err() != nil || abi.IsOfHost(err):
		return Trial{}, err
	default:
		t.Misfit = &replay.Misfit{Reason: abi.AsError(err).Error()}
	}
	// In the order of issue: the journal is the same each time.
	pending := player.Pending()
	for _, number := range slices.Sorted(maps.Keys(pending)) {
		o := pending[number]
		t.waiting = append(t.waiting, o.StepID)
		if before.List == nil || slices.Contains(before.List, o.StepID) {
			t.waitedBefore = append(t.waitedBefore, o.StepID)
		}
	}
	return t, nil
}

func (x *Executions) tryGuest(
	ctx context.Context, row *journal.Execution, player *replay.Player, open Opener, did *replayed,
	handing func(context.Context, []journal.Entry) context.Context,
) (guest.Turn, error) {
	var g *admitted
	defer func() {
		if g != nil {
			g.Close()
		}
	}()
	took := func(turn guest.Turn) { did.note(player, turn) }
	return play(ctx, player, took, func() (guest.Turn, error) {
		return x.startGuest(ctx, row, open, x.resident.Admit, func(kept *admitted) { g = kept })
	}, func(entries []journal.Entry) (guest.Turn, error) {
		return x.compute(handing(ctx, entries), row.Namespace, func(ctx context.Context) (guest.Turn, error) {
			return g.Resume(ctx, resumeOf(entries))
		})
	})
}

// tookTurn is told of each turn of a replay, behind the player; nil if no one is.
type tookTurn func(guest.Turn)

// play runs a fresh guest through a journal: the same batches, the same clock. It returns the last
// turn; the player knows the steps the guest waits for.
func play(
	ctx context.Context, player *replay.Player, took tookTurn, begin func() (guest.Turn, error), deliver func([]journal.Entry) (guest.Turn, error),
) (guest.Turn, error) {
	turn, err := begin()
	for err == nil {
		player.Turn(turn.Issued, turn.Cancelled)
		if took != nil {
			took(turn)
		}
		var due []journal.Entry
		if due, err = player.Next(ctx, turn.Outcome != nil); err != nil || len(due) == 0 {
			break
		}
		turn, err = deliver(due)
	}
	return turn, err
}

// Move has an execution go on with another module, given by its digest, if its
// journal fits. It returns once that is durable.
func (x *Executions) Move(ctx context.Context, ref Ref, digest string) error {
	return x.ask(ctx, ref, func(reply chan<- error) notice { return moveRequest{digest, reply} })
}

// move replays the journal on the other module and, if it fits, makes the move durable and has the
// run rebuilt there. Tasks of the host go on, and so do outcomes in hand: they go by step.
func (r *run) move(m moveRequest) error {
	defer r.locked(func(l *ledger) { l.frozen = false }) // see postponeMove
	switch {
	case r.row.State.Final():
		return alreadyOver(r.row)
	case r.row.Digest == m.digest && r.row.State == journal.Running:
		return nil
	case r.row.Digest == m.digest:
		return abi.Errorf(abi.CodeBadRequest, "%s is pinned to this module already", r.row.Name()).
			WithHint("Resume it with 'cruster-host workflow resume', or move it to another module.")
	}
	target := *r.row
	target.Digest, target.Waiting = m.digest, r.waitsFor()
	r.dropGuest() // two instances at once could wait for each other's memory
	whole := part{whole: true}
	r.locked(func(l *ledger) { whole.unanswered = l.inbox.Unanswered() })
	ctx, end := r.cancelable()
	defer end()
	trial, err := r.execs.try(ctx, &target, whole, r.execs.OpenGuest)
	if err != nil {
		return err
	}
	if trial.Misfit == nil {
		trial.Misfit = r.underWay(trial)
	}
	if trial.Misfit != nil {
		return trial.Misfit.For(r.row.Name())
	}
	did, err := r.execs.performReplayed(r.execs.Host.Context(), &target, trial.did)
	if err != nil {
		return err
	}
	return r.commitMove(m.digest, trial, did)
}

// postponeMove has a move received again once no number is reserved and no outcome is in hand: both
// may become entries that the trial would not see. If there are none it keeps transactions of
// activities from taking a place in the journal until the move is through; others are rolled back
// and run again. It reports whether the move must wait.
func (r *run) postponeMove(m moveRequest) bool {
	var reserved, inHand bool
	r.locked(func(l *ledger) {
		reserved, inHand = len(l.reserved) > 0, l.ops.InHand()
		l.frozen = !reserved && !inHand
	})
	if !reserved && !inHand {
		return false
	}
	if reserved {
		r.reload(batch{})
	}
	r.requeue(ofChain{r.chain, m})
	return true
}

// waitsFor returns the waiting state of the run, with all steps by name.
func (r *run) waitsFor() journal.Waiting {
	w := r.waitingNow()
	if r.begun {
		r.locked(func(l *ledger) { w.List = l.ops.Steps() })
	}
	return w
}

// WaitsFor returns the waiting state of a run in memory, with all steps by name. It reports false
// if that is not known.
func (x *Executions) WaitsFor(ctx context.Context, row *journal.Execution) (journal.Waiting, bool) {
	if !x.runs.Has(row.ID) {
		return journal.Waiting{}, false
	}
	reply := make(chan journal.Waiting, 1)
	x.runs.Post(row.ID, ofRun{row.Run, waitingRequest{reply}})
	select {
	case w := <-reply:
		return w, len(w.List) > 0
	case <-ctx.Done():
	case <-x.Host.Context().Done():
	}
	return journal.Waiting{}, false
}

// underWay finds an activity that is being performed and that the other code does not
// wait for. It may have taken effect; nothing tells.
func (r *run) underWay(trial Trial) *replay.Misfit {
	r.mu.Lock()
	defer r.mu.Unlock()
	for step := range r.tasks {
		if o := r.ledger.ops.Step(step); o != nil && o.Kind == abi.OpActivity && !slices.Contains(trial.waiting, step) {
			return &replay.Misfit{Reason: "activity \"" + o.Name + "\" is being performed at this moment, and the code does not wait for it"}
		}
	}
	return nil
}

func (r *run) commitMove(digest string, trial Trial, did localEffects) error {
	r.mu.Lock()
	r.ledger.seq = max(r.ledger.seq, trial.end.Seq) + 1
	moved := journal.Entry{
		Kind: journal.Moved, Seq: r.ledger.seq, At: r.ledger.tick(max(r.execs.now(), trial.end.At)),
		Value: abi.MustMarshal(&journal.Move{From: r.row.Digest, To: digest, Waited: trial.waitedBefore, Declined: trial.declined}),
	}
	r.mu.Unlock()
	u := journal.Update{
		State: journal.Running, WakeAt: journal.Now, Digest: digest, MovedAt: moved.Seq,
		Waiting: journal.WaitingFor(moved.Seq, trial.waiting), Section: r.row.Section,
	}
	w := journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Entries: []journal.Entry{moved}, Update: &u}
	did.write(&w, r.execs.now())
	stops, err := r.stopSteps(did.unwanted)
	if err != nil {
		return err
	}
	w.Send = append(w.Send, stops...)
	r.execs.Fault.Pass(faultpoint.MoveBeforeCommit)
	if err := r.commitSends(w); err != nil {
		return err
	}
	r.execs.Fault.Pass(faultpoint.MoveAfterCommit)
	r.log.Info("moved", "from", r.row.Digest, "to", digest)
	r.reload(batch{})
	r.crashes = 0
	return nil
}
