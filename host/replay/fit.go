package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Misfit says why code does not fit a journal.
type Misfit struct {
	// Reason is one line.
	Reason string
	// Diff shows both sides; nil if there is nothing to show.
	Diff *Diff
}

// MisfitError is the error of a misfit: an *abi.Error whose message shows both sides, and the sides themselves.
type MisfitError struct {
	// Cause has the code abi.CodeDoesNotFit.
	Cause *abi.Error
	// Diff is nil if there is nothing to show side by side.
	Diff *Diff
}

func (e *MisfitError) Error() string { return e.Cause.Error() }

func (e *MisfitError) Unwrap() error { return e.Cause }

// For makes an error of it, for an execution.
func (m *Misfit) For(execution string) error {
	text := fmt.Sprintf("%s does not fit: %s", execution, m.Reason)
	if m.Diff != nil {
		text += "\n" + m.Diff.String()
	}
	return &MisfitError{Cause: abi.Errorf(abi.CodeDoesNotFit, "%s", text), Diff: m.Diff}
}

// Fits judges about a journal that was played to its end on other code than its own; nil says that it fits.
// Outcome is how the guest has finished, nil if it waits; before are the steps that the execution waited for with its
// own code, and later are steps that it came to after the part that was played. Has tells which activities the module
// has; nil if that is not known.
//
// A step that has run and that the new code does not come to does not fit: it would be as if it had never happened. But
// a guest that waits for a step that has not run, because it was inserted, may come to it later. It is told from a
// guest that has passed the step by its waits: if the execution waited for all of these before, nothing was inserted.
// If it waits for a step of the same kind and name as a step that has run, then its arguments have changed, and it
// would run twice. And it will never come to an activity that its module does not have: that was removed, or has
// another name now, under which it would run twice.
func (p *Player) Fits(
	outcome *abi.Outcome, before journal.Waiting, later map[journal.StepID]bool, has func(activity string) bool,
) *Misfit {
	if outcome != nil && outcome.Error != nil {
		return &Misfit{Reason: fmt.Sprintf("the code fails at once: %s", outcome.Error.Message)}
	}
	unclaimed := p.unclaimed()
	if len(unclaimed) == 0 {
		return nil
	}
	if outcome != nil {
		return p.misfit(
			unclaimed,
			fmt.Sprintf(
				"the code finishes without %s that %s run", count(len(unclaimed), "step"), have(len(unclaimed)),
			),
			nil,
		)
	}
	for _, number := range slices.Sorted(maps.Keys(p.ops.pending)) {
		o := p.ops.pending[number]
		for _, en := range unclaimed {
			if en.Op.Kind == o.Kind && en.Op.Name == o.Name && en.Op.Key == o.Key {
				return p.misfit(unclaimed, fmt.Sprintf(
					"%s has run with other arguments", title(o.Op),
				), &change{en.Op.Step(), o.StepID})
			}
		}
	}
	for _, en := range unclaimed {
		if en.Op.Kind == abi.OpActivity && has != nil && !has(en.Op.Name) {
			return p.misfit(
				unclaimed, fmt.Sprintf("%s has run, and the module has no activity of that name", title(en.Op)), nil,
			)
		}
	}
	if p.waitsOnlyFor(before, later) {
		return p.misfit(
			unclaimed,
			fmt.Sprintf(
				"the code does not come to %s that %s run", count(len(unclaimed), "step"), have(len(unclaimed)),
			),
			nil,
		)
	}
	return nil
}

// unclaimed are the steps that have run and that the guest has not come to. Questions about changes of the code are
// none: they may go once no run needs them.
func (p *Player) unclaimed() (entries []journal.Entry) {
	for _, en := range p.held {
		if isStep(en) {
			entries = append(entries, en)
		}
	}
	sortBySeq(entries)
	return entries
}

// FinishedWithout is the error of code that has finished although steps that have run before it was moved there are
// held.
func FinishedWithout(held map[journal.StepID]journal.Entry) *abi.Error {
	var entries []journal.Entry
	for _, en := range held {
		if isStep(en) {
			entries = append(entries, en)
		}
	}
	sortBySeq(entries)
	return abi.Errorf(
		abi.CodeDoesNotFit, "the code has finished without %s that %s run before the execution was moved, first %s",
		count(len(entries), "step"), have(len(entries)), describeEntry(recorded{entries[0].Op, entries[0].Seq}),
	)
}

// HaveRun tells whether there are steps among entries that are held.
func HaveRun(held map[journal.StepID]journal.Entry) bool {
	for _, en := range held {
		if isStep(en) {
			return true
		}
	}
	return false
}

func isStep(en journal.Entry) bool { return en.Op.Kind != abi.OpPatched }

// waitsOnlyFor tells whether the guest waits for nothing but steps that the execution waited for before, or came to
// later.
func (p *Player) waitsOnlyFor(before journal.Waiting, later map[journal.StepID]bool) bool {
	var now journal.StepSum
	known := true
	for _, o := range p.ops.pending {
		now.Add(o.StepID)
		known = known && (later[o.StepID] || slices.Contains(before.List, o.StepID))
	}
	return known || now == before.Steps
}

func count(n int, what string) string {
	if n == 1 {
		return "a " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

// title names an op by kind and name.
func title(o journal.Op) string {
	if o.Name == "" {
		return o.Kind
	}
	return fmt.Sprintf("%s %q", o.Kind, o.Name)
}

// change is a step that has run, and its fate in the code.
type change struct{ ran, now journal.StepID }

// misfit shows both sides around the first step that does not fit.
func (p *Player) misfit(unclaimed []journal.Entry, reason string, changed *change) *Misfit {
	return &Misfit{Reason: reason, Diff: p.record.diff(unclaimed, changed)}
}

// around is how many rows a diff shows around the first difference.
const around = 5
