package replay

import (
	"cmp"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// maxHeld bounds the outcomes that are held for steps which come later, in bytes.
const maxHeld = 64 << 20

// maxRecord bounds how many steps of each side a diff is made of.
const maxRecord = 10_000

// record is the material of a diff: the steps of the journal in their order, and the steps of the code in theirs.
type record struct {
	inJournal []recorded
	inCode    []journal.Op
}

type recorded struct {
	op  journal.Op
	seq uint64
}

func (r *record) journal(en journal.Entry) {
	if len(r.inJournal) < maxRecord {
		r.inJournal = append(r.inJournal, recorded{en.Op, en.Seq})
	}
}

func (r *record) code(o *op.Op) {
	if len(r.inCode) < maxRecord {
		r.inCode = append(r.inCode, o.Op)
	}
}

func sortBySeq(entries []journal.Entry) {
	slices.SortFunc(entries, func(a, b journal.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
}

func sizeOf(en journal.Entry) int {
	const row = 256
	n := row + len(en.Value)
	if en.Error != nil {
		n += len(en.Error.Message) + len(en.Error.Details)
	}
	return n
}

func tooMuchHeld(n int) *abi.Error {
	return abi.Errorf(
		abi.CodeDoesNotFit,
		"the journal has the outcomes of %d steps, more than %d MiB, that the code does not come to", n, maxHeld>>20,
	)
}
