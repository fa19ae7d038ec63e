package replay

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// Player hands a journal to a guest that is replayed: turn by turn, to the ops that the entries answer.
//
// Two rules decide which op that is. Entries that were delivered to the same code go by number: the guest does exactly
// the same again, or it has diverged. Entries up to a move were delivered to other code. They go by step, that is by
// the identity of an op and how many alike came before it. So steps that the new code has moved, or that it has
// inserted between others, do no harm: an entry whose op is not there yet is held until it is. It is still held when
// the guest waits for a step that has not run; then the guest goes on for real, and whenever it comes to a step that is
// held, it is given the entry of the journal. Such a delivery becomes an entry again, under its new number, so that the
// next replay finds it in its place.
//
// Held entries that no op has claimed are steps that have run and that the new code does not come to, as far as can be
// seen. [Player.Fits] judges about them.
type Player struct {
	reader   *Reader
	ops      *Ops
	moved    uint64           // entries up to this one were delivered to other code
	drained  bool             // they are all read
	strict   bool             // and the guest has come as far with them as it can
	before   journal.Waiting  // from the row
	waited   journal.Waiting  // from the last entry that has it
	compared bool             // the guest was found to wait for that
	row      *journal.Waiting // see Recovers; nil if it does not
	endKnown bool             // see EndIsKnown
	at       int64            // journal time of the last delivery
	move     journal.Move     // the last one
	movedAt  int64            // when it was

	held     map[journal.StepID]journal.Entry // deliveries that no op has claimed
	heldSize int
	ready    []journal.Entry                  // claimed, to be delivered
	attempts map[journal.StepID]journal.Entry // the last failed attempt of steps that are not issued
	declined []string                         // changes of the code that the run is behind
	record   record

	due     []journal.Entry // handed out last
	section op.Section      // that the guest is in
	gaveUp  []*op.Op        // given up by its last turn
}

// NewPlayer plays a journal. Entries up to moved were delivered to other code; all of them were, in the trial of a
// move, if it is the largest number. Before holds the guest's waits at a point of the journal.
func NewPlayer(reader *Reader, moved uint64, before journal.Waiting) *Player {
	if before.Seq < moved {
		before = journal.Waiting{} // it is about the other code
	}
	return &Player{
		reader: reader, ops: NewOps(), moved: moved, drained: moved == 0, strict: moved == 0, before: before,
		held: map[journal.StepID]journal.Entry{}, attempts: map[journal.StepID]journal.Entry{},
	}
}

// NewPlayerBehind plays the rest of a journal to a guest that has seen the entries up to the position of the reader,
// waits for pending and is in a section. All of the rest was delivered to the same code.
func NewPlayerBehind(reader *Reader, pending []*op.Op, section op.Section, before journal.Waiting) *Player {
	if before.Seq < reader.Position().Seq {
		before = journal.Waiting{} // the guest is past that
	}
	p := NewPlayer(reader, 0, before)
	p.ops, p.section = newOpsOf(pending), section
	return p
}

// EndIsKnown says that the caller knows op by op the waits of the guest at the end, and compares these itself: it can
// tell the missing ones.
func (p *Player) EndIsKnown() { p.endKnown = true }

// Pending are the ops that were issued and neither delivered nor cancelled.
func (p *Player) Pending() map[uint32]*op.Op { return p.ops.Pending() }

// Held are the outcomes of steps that other code came to, and this guest did not yet.
func (p *Player) Held() map[journal.StepID]journal.Entry { return p.held }

// Attempts are the known attempts of steps that this guest did not come to.
func (p *Player) Attempts() map[journal.StepID]journal.Entry { return p.attempts }

// Declined are the ids of changes of the code that the guest asked for and does not take, without an entry that says
// so.
func (p *Player) Declined() []string { return p.declined }

// Section is the critical section that the guest is in.
func (p *Player) Section() op.Section { return p.section }

// GaveUp are the ops that the last turn has given up, and that were issued before it.
func (p *Player) GaveUp() []*op.Op { return p.gaveUp }

// Recovers says that the replay is to find the effects of turns without a commit of their own, given the steps that
// the execution waited for according to the row.
func (p *Player) Recovers(row journal.Waiting) { p.row = &row }

// HasCommit tells whether the last turn, and so each before it, is known to have had a commit of its
// own: the row or an entry names the waits of the execution behind it. A commit of a turn names them, see
// [journal.Waiting]; the entries that the turn delivered may have been durable before it.
func (p *Player) HasCommit() bool {
	if p.row == nil {
		return true
	}
	var last uint64 // of the first turn: no entry
	for _, en := range p.due {
		last = max(last, en.Seq)
	}
	waited := p.Waited(*p.row)
	return waited.Seq > 0 && waited.Seq >= last || last == 0 && waited.Steps != journal.StepSum{}
}

// behindEnd passes over entries that a guest which has finished is not given any more. The transactions of other
// activities may have committed theirs before the turn in which it finished had a commit. It did not finish there
// before if any turn behind has one, or if something else was delivered. About entries up to a move the trial of
// the move has decided.
func (p *Player) behindEnd(due []journal.Entry) error {
	for _, en := range due {
		if en.Seq <= p.moved && p.moved != math.MaxUint64 {
			continue
		}
		if p.HasCommit() || en.Op.Kind != abi.OpActivity || en.Seq <= p.Waited(*p.row).Seq {
			return FinishedEarly(en)
		}
	}
	return nil
}

// Turn records the guest's ops in a turn.
func (p *Player) Turn(issued []*op.Op, cancelled []uint32) {
	p.gaveUp = nil
	for _, number := range cancelled {
		if o := p.ops.pending[number]; o != nil {
			p.gaveUp = append(p.gaveUp, o)
		}
	}
	p.ops.Turn(issued, cancelled)
	p.section = p.section.After(p.due, issued, cancelled, maps.Values(p.ops.pending))
	for _, number := range cancelled {
		if issued, known := p.ops.issued[number]; known {
			p.release(issued.step) // it has come to it, and given it up
		}
	}
	if p.moved == 0 {
		return
	}
	for _, o := range issued {
		p.record.code(o)
		if en, ok := p.attempts[o.StepID]; ok {
			o.Note(en)
			delete(p.attempts, o.StepID)
		}
		if en, ok := p.held[o.StepID]; ok && !p.strict {
			p.claim(en, o.StepID)
		}
	}
}

// Next is the next turn of the guest: the deliveries that it is due, addressed to its own ops. It is empty at the end.
// Over says that the guest has finished.
func (p *Player) Next(ctx context.Context, over bool) ([]journal.Entry, error) {
	for {
		due, err := p.next(ctx)
		if err != nil || len(due) == 0 || !over {
			p.due = due
			return due, err
		}
		if err := p.behindEnd(due); err != nil {
			return nil, err
		}
	}
}

func (p *Player) next(ctx context.Context) ([]journal.Entry, error) {
	for !p.strict {
		if due := p.takeReady(); len(due) > 0 {
			return due, nil
		}
		if p.drained {
			if due := p.declinePatches(); len(due) > 0 {
				return due, nil
			}
			p.strict = true
			p.beginWithMove()
			break
		}
		entries, err := p.reader.Next(ctx)
		if err != nil {
			return nil, err
		}
		if err := p.hold(entries); err != nil {
			return nil, err
		}
	}
	return p.nextStrict(ctx)
}

func (p *Player) nextStrict(ctx context.Context) ([]journal.Entry, error) {
	for {
		entries, err := p.reader.Next(ctx)
		if err != nil {
			return nil, err
		}
		if err := p.compareWaiting(entries); err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return nil, nil
		}
		p.noteWaiting(entries)
		due, err := p.ops.Match(entries)
		if err != nil {
			return nil, err
		}
		if len(due) == 0 {
			continue
		}
		for _, en := range due {
			p.release(en.Op.Step())
		}
		return due, nil
	}
}

// beginWithMove has the steps begin with the move that the guest waits for because of it. Its clock shows the last
// delivery to the other code, perhaps of a week ago: a timeout that was inserted would be over at once, and an activity
// would seem to have been begun by an earlier host.
func (p *Player) beginWithMove() {
	for _, o := range p.ops.pending {
		if !slices.Contains(p.move.Waited, o.StepID) {
			o.IssuedAt = max(o.IssuedAt, p.movedAt)
		}
	}
}

// declinePatches answers a guest that asks whether it takes a change of the code, at a point that the other code came
// by without asking: steps behind it have run. It does not take it. All that was delivered to the other code is read by
// then, so that an answer that was given before would have been found. This one needs no entry: it is the same on every
// replay.
func (p *Player) declinePatches() []journal.Entry {
	if !HaveRun(p.held) {
		return nil
	}
	var due []journal.Entry
	for _, number := range slices.Sorted(maps.Keys(p.ops.pending)) {
		o := p.ops.pending[number]
		if o.Kind != abi.OpPatched {
			continue
		}
		p.at = max(p.at, o.IssuedAt)
		if !slices.Contains(p.declined, o.Name) {
			p.declined = append(p.declined, o.Name)
		}
		due = append(due, journal.Entry{Kind: journal.Delivery, At: p.at, Op: o.Op, Value: abi.MustMarshal(false)})
		p.ops.delivered(number)
	}
	return due
}

// compareWaiting checks, at the points for which they are known, that the guest has the same waits as before.
func (p *Player) compareWaiting(next []journal.Entry) error {
	if !p.compared && p.waited.Seq > p.moved && (len(next) > 0 || !p.endKnown) {
		p.compared = true
		if err := p.ops.CheckWaiting(p.waited); err != nil {
			return err
		}
	}
	if len(next) > 0 && next[0].Seq <= p.before.Seq {
		return nil
	}
	before := p.before
	p.before = journal.Waiting{}
	return p.ops.CheckWaiting(before)
}

// noteWaiting takes note of the waits of the execution that entries name.
func (p *Player) noteWaiting(entries []journal.Entry) {
	for _, en := range entries {
		if en.Waiting != nil {
			p.waited, p.compared = *en.Waiting, false
		}
	}
}

// Waited are the waits of the execution at the last point of the journal for which they are known: as its row says, or
// as an entry does.
func (p *Player) Waited(row journal.Waiting) journal.Waiting {
	if p.waited.Seq > row.Seq {
		return p.waited
	}
	return row
}

// hold takes entries that were delivered to other code. None are left if there are none.
func (p *Player) hold(entries []journal.Entry) error {
	p.drained = len(entries) == 0
	p.noteWaiting(entries)
	for _, en := range entries {
		if en.Seq == p.moved {
			p.drained, p.movedAt = true, en.At
			if err := abi.Unmarshal(en.Value, &p.move); err != nil {
				return fmt.Errorf("entry %d: %w", en.Seq, err)
			}
		}
		step := en.Op.Step()
		switch o := p.ops.step(step); {
		case en.Kind == journal.Attempt && o != nil:
			o.Note(en)
		case en.Kind == journal.Attempt:
			p.attempts[step] = en
		case en.Kind != journal.Delivery:
		default:
			p.record.journal(en)
			if _, twice := p.held[step]; twice || o == nil && p.ops.came(step) {
				continue // delivered before, or given up by the guest
			}
			p.held[step] = en
			p.heldSize += sizeOf(en)
			if o != nil {
				p.claim(en, step)
			}
		}
	}
	if p.heldSize > maxHeld {
		return tooMuchHeld(len(p.held))
	}
	return nil
}

// claim has an entry delivered to the op that it answers.
func (p *Player) claim(en journal.Entry, step journal.StepID) {
	p.release(step)
	p.ready = append(p.ready, en)
}

// release holds an entry no longer.
func (p *Player) release(step journal.StepID) {
	if en, ok := p.held[step]; ok {
		p.heldSize -= sizeOf(en)
		delete(p.held, step)
	}
}

// takeReady takes the claimed deliveries, one turn of the journal at a time.
func (p *Player) takeReady() []journal.Entry {
	var due, rest []journal.Entry
	sortBySeq(p.ready)
	for _, en := range p.ready {
		o := p.ops.step(en.Op.Step())
		switch {
		case o == nil: // given up meanwhile
		case len(due) > 0 && due[0].Turn != en.Turn:
			rest = append(rest, en)
		default:
			p.at = max(p.at, en.At)
			en.Op = o.Op
			due = append(due, en)
		}
	}
	p.ready = rest
	for i := range due {
		due[i].At = p.at
		p.ops.delivered(due[i].Op.Number)
	}
	return due
}
