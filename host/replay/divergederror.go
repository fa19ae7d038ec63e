package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// didSomethingElse shows the step of the journal beside the step of the workflow.
func didSomethingElse(en journal.Entry, issued identity, known bool) *abi.Error {
	now := "nothing"
	if known {
		now = op.Describe(issued.op)
	}
	return abi.Errorf(abi.CodeNondeterminism,
		"the workflow did something else on replay\n  journal, entry %d: %s\n  replay:            %s", en.Seq,
		op.Describe(en.Op), now,
	)
}

// FinishedEarly is the error of a workflow that finished although the journal goes on with an entry.
func FinishedEarly(next journal.Entry) *abi.Error {
	return abi.Errorf(
		abi.CodeNondeterminism, "on replay the workflow finished early: the journal goes on with %s",
		op.Describe(next.Op),
	)
}

// FinishedInsteadOfWaiting is the error of a workflow that finished although it was waiting before.
func FinishedInsteadOfWaiting(pending map[uint32]*op.Op) *abi.Error {
	return abi.Errorf(
		abi.CodeNondeterminism, "on replay the workflow finished; before, it was waiting for %d ops", len(pending),
	)
}

// waitsForOthers is the error of a workflow that waits for other steps than it did before the restart. The steps before
// are not kept, only their sum.
func waitsForOthers(after uint64, pending map[uint32]*op.Op) *abi.Error {
	where := "after its first turn"
	if after > 0 {
		where = fmt.Sprintf("after entry %d of the journal", after)
	}
	now := "nothing"
	if len(pending) > 0 {
		now = ""
		for i, number := range slices.Sorted(maps.Keys(pending)) {
			if i == maxListed {
				now += fmt.Sprintf(", and %d more", len(pending)-i)
				break
			}
			if i > 0 {
				now += ", "
			}
			now += op.Describe(pending[number].Op)
		}
	}
	return abi.Errorf(
		abi.CodeNondeterminism, "on replay the workflow waits for other ops than before, %s; it now waits for %s",
		where, now,
	)
}

// maxListed is how many ops an error names.
const maxListed = 10

// StillWaiting checks that a replayed workflow waits for every op that it was waiting for before.
func StillWaiting(before, after map[uint32]*op.Op) error {
	for _, number := range slices.Sorted(maps.Keys(before)) {
		o := before[number]
		if again := after[number]; again == nil || !op.Same(again.Op, o.Op) {
			return abi.Errorf(
				abi.CodeNondeterminism, "on replay the workflow no longer waits for %s", op.Describe(o.Op),
			)
		}
	}
	return nil
}
