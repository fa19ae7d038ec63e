package observe

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Patch is the decision of an execution about a change of the code that asks for it.
type Patch struct {
	ID    string
	Taken bool
	// Seq is the entry of the journal that says so: the answer itself, or the move to the code that asks, if the
	// execution was behind the change by then.
	Seq uint64
}

// maxPatches is how many changes of the code are told.
const maxPatches = 1000

// skimJournal counts the entries of a journal, and finds the changes of the code that they tell of, each once. It ends
// before an entry that does not decode.
func (o *Observer) skimJournal(ctx context.Context, run journal.RunKey) (n int, patches []Patch, err error) {
	known := map[string]bool{}
	for en, err := range journal.Scan(ctx, o.deps.Store, run) {
		var damaged *journal.DamagedEntry
		if errors.As(err, &damaged) {
			break
		}
		if err != nil {
			return n, nil, err
		}
		n++
		for _, p := range patchesOf(en) {
			if !known[p.ID] && len(patches) < maxPatches {
				known[p.ID] = true
				patches = append(patches, p)
			}
		}
	}
	return n, patches, nil
}

// patchesOf returns the changes of the code that an entry records.
func patchesOf(en journal.Entry) (patches []Patch) {
	switch {
	case en.Kind == journal.Delivery && en.Op.Kind == abi.OpPatched:
		var taken bool
		if abi.Unmarshal(en.Value, &taken) == nil {
			patches = append(patches, Patch{ID: en.Op.Name, Taken: taken, Seq: en.Seq})
		}
	case en.Kind == journal.Moved:
		var move journal.Move
		if abi.Unmarshal(en.Value, &move) == nil {
			for _, id := range move.Declined {
				patches = append(patches, Patch{ID: id, Seq: en.Seq})
			}
		}
	}
	return patches
}
