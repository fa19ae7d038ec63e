package execution

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/host/residency"
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

// Recoder tries executions on other code, and forks them.
type Recoder struct {
	deps      *Deps
	guests    *guests
	publisher publisher
	resident  *residency.List
	rows      request.Rows
	starter   *starter
}

// Try replays an execution on the code that open finds for it. It writes nothing, and takes no more memory than one
// execution.
func (c *Recoder) Try(ctx context.Context, row *journal.Execution, open Opener) (Trial, error) {
	return c.try(ctx, row, part{whole: true}, open)
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
	from, _ := slices.BinarySearchFunc(p.entries, after+1, func(en journal.Entry, seq uint64) int {
		return cmp.Compare(en.Seq, seq)
	})
	return p.entries[from:], false, nil
}

func (c *Recoder) try(ctx context.Context, row *journal.Execution, of part, open Opener) (Trial, error) {
	reader := replay.NewReader(of.pages, math.MaxUint64)
	var pages *pages
	if of.whole {
		pages = newPages(c.deps, row.RunKey())
		defer pages.release()
		reader = replay.NewReader(pages.read, math.MaxUint64)
	}
	// All of the journal was delivered to other code.
	player := replay.NewPlayer(reader, math.MaxUint64, journal.Waiting{})
	player.Recovers(row.Waiting)
	did := replayed{unanswered: of.unanswered}
	var opened Opening
	turn, err := c.tryGuest(ctx, row, player, func(ctx context.Context, row *journal.Execution) (Opening, error) {
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

func (c *Recoder) tryGuest(
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
		return c.guests.start(ctx, row, open, c.resident.Admit, func(kept *admitted) { g = kept })
	}, func(entries []journal.Entry) (guest.Turn, error) {
		return c.guests.compute(handing(ctx, entries), row.Namespace, func(ctx context.Context) (guest.Turn, error) {
			return g.Resume(ctx, resumeOf(entries))
		})
	})
}

// tookTurn is told of each turn of a replay, behind the player; nil if no one is.
type tookTurn func(guest.Turn)

// play runs a fresh guest through a journal: the same batches, the same clock. It returns the last
// turn; the player knows the steps the guest waits for.
func play(
	ctx context.Context, player *replay.Player, took tookTurn, begin func() (guest.Turn, error),
	deliver func([]journal.Entry) (guest.Turn, error),
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
