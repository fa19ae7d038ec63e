package recode

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/publish"
	"github.com/cruster/cruster/host/execution/rebuild"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
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

	// Waiting are the steps the guest waits for at the end.
	Waiting []journal.StepID
	// WaitedBefore are those among them that the execution waited for.
	WaitedBefore []journal.StepID
	// Declined are changes of the code that the execution is behind.
	Declined []string
	// End is the position of the last entry.
	End replay.Position

	did replayed // effects the run performs itself, in all turns
}

// Deps are the dependencies of a [Recoder].
type Deps struct {
	Clock clockwork.Clock
	// Delivering is the budget of large values on their way from the store to a guest: see package largevalue.
	Delivering *budget.Budget
	Fault      faultpoint.Injector
	Guests     *instance.Guests
	Open       instance.Opener
	Publisher  publish.Publisher
	// Queued is the budget of large values on their way to a start.
	Queued   *budget.Budget
	Resident *residency.List
	Rows     request.Rows
	Starter  Starter
	Store    Store
}

// Starter starts executions.
type Starter interface {
	// StartWrite makes a new execution durable, which may have a journal already, and sets it to work.
	StartWrite(ctx context.Context, w journal.Write) (existed bool, err error)
}

// Store is the part of the store that has journals and inboxes.
type Store interface {
	journal.EntryReader
	journal.SettlementReader
}

// Recoder tries executions on other code, and forks them.
type Recoder struct{ Deps }

// Try replays an execution on the code that open finds for it. It writes nothing, and takes no more memory than one
// execution.
func (c *Recoder) Try(ctx context.Context, row *journal.Execution, open instance.Opener) (Trial, error) {
	return c.try(ctx, row, part{whole: true}, open)
}

// TryMove is Try on the code of a row that an execution is to be moved to. Unanswered are the updates whose answers
// matter.
func (c *Recoder) TryMove(ctx context.Context, row *journal.Execution, unanswered message.Updates) (Trial, error) {
	return c.try(ctx, row, part{whole: true, unanswered: unanswered}, c.Open)
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

func (c *Recoder) try(ctx context.Context, row *journal.Execution, of part, open instance.Opener) (Trial, error) {
	reader := replay.NewReader(of.pages, math.MaxUint64)
	var pages *rebuild.Pages
	if of.whole {
		pages = rebuild.NewPages(c.Delivering, c.Store, row.RunKey())
		defer pages.Release()
		reader = replay.NewReader(pages.Read, math.MaxUint64)
	}
	// All of the journal was delivered to other code.
	player := replay.NewPlayer(reader, math.MaxUint64, journal.Waiting{})
	player.Recovers(row.Waiting)
	did := replayed{unanswered: of.unanswered}
	var opened instance.Opening
	noting := func(ctx context.Context, row *journal.Execution) (_ instance.Opening, err error) {
		opened, err = open(ctx, row)
		return opened, err
	}
	handing := func(ctx context.Context, due []journal.Entry) context.Context {
		return pages.HandingOver(ctx, reader, due)
	}
	turn, err := c.tryGuest(ctx, row, player, noting, &did, handing)
	t := Trial{Declined: player.Declined(), did: did, End: reader.Position()}
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
		t.Waiting = append(t.Waiting, o.StepID)
		if before.List == nil || slices.Contains(before.List, o.StepID) {
			t.WaitedBefore = append(t.WaitedBefore, o.StepID)
		}
	}
	return t, nil
}

func (c *Recoder) tryGuest(
	ctx context.Context, row *journal.Execution, player *replay.Player, open instance.Opener, did *replayed,
	handing func(context.Context, []journal.Entry) context.Context,
) (guest.Turn, error) {
	var g *instance.Admitted
	defer func() {
		if g != nil {
			g.Close()
		}
	}()
	took := func(turn guest.Turn) { did.note(player, turn) }
	return rebuild.Play(ctx, player, took, func() (guest.Turn, error) {
		return c.Guests.Start(ctx, row, open, c.Resident.Admit, func(kept *instance.Admitted) { g = kept })
	}, func(entries []journal.Entry) (guest.Turn, error) {
		return c.Guests.Compute(handing(ctx, entries), row.Namespace, func(ctx context.Context) (guest.Turn, error) {
			return g.Resume(ctx, instance.ResumeOf(entries))
		})
	})
}
