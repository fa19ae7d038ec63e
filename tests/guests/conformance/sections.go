package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Sections passes a part from one tally to another under a lock, and tries forbidden calls in the section.
var Sections = cruster.NewWorkflow("Sections", func(ctx cruster.Context, id string) ([]Seen, error) {
	from, to, other := id+"-from", id+"-to", id+"-other"
	all := []Seen{seen(tallyAdd.On(from).Call(ctx, 100))}
	section, err := cruster.Lock(ctx, tally.ID(to), tally.ID(from))
	if err != nil {
		return nil, err
	}
	all = append(all,
		seen(tallyAdd.On(from).Call(ctx, -30)),
		seen(tallyAdd.On(to).Call(ctx, 30)),
		seen(tallyRead.On(from).Call(ctx, cruster.None{})),
		locks(ctx, tally.ID(other)),
		seen(TallyReported.Client().Execute(ctx, other)),
		seen(tallyAdd.On(other).Call(ctx, 1)),
		told(tallyAdd.On(to).Send(ctx, 1)),
		told(tallyAdd.On(other).Send(ctx, 5)),
		told(section.Unlock(ctx)),
		told(section.Unlock(ctx)),
		seen(tallyAdd.On(other).Call(ctx, 0)),
		locks(ctx, tally.ID(other)),
		seen(tallyRead.On(to).Call(ctx, cruster.None{})),
	)
	return all, nil
})

// locks begins a section and says whether it could.
func locks(ctx cruster.Context, first cruster.EntityID, others ...cruster.EntityID) Seen {
	section, err := cruster.Lock(ctx, first, others...)
	if err != nil {
		return told(err)
	}
	return told(section.Unlock(ctx))
}

// SectionsRefused asks for sections that there cannot be. None of them leaves the workflow in one.
var SectionsRefused = cruster.NewWorkflow("SectionsRefused", func(ctx cruster.Context, id string) ([]Seen, error) {
	return []Seen{
		locks(ctx, tally.ID(id), tally.ID(id)),
		locks(ctx, cruster.RemoteEntityID("conformance/Ledger", id)),
		locks(ctx, tally.ID(id), cruster.RemoteEntityID("conformance/Missing", id)),
		locks(ctx, cruster.RemoteEntityID("", id)),
		seen(tallyAdd.On(id).Call(ctx, 1)),
		locks(ctx, tally.ID(id), cruster.RemoteEntityID("conformance/Tally", id+"/with a slash")),
	}, nil
})

// SectionEnds has other executions end in a section, each in its way, and locks the same.
var SectionEnds = cruster.NewWorkflow("SectionEnds", func(ctx cruster.Context, id string) ([]Seen, error) {
	var all []Seen
	for _, end := range []string{"value", "error", "continue"} {
		all = append(all,
			seen(SectionLeft.Client().WithKeyRaw(id+"-"+end).Execute(ctx, SectionLeftRequest{End: end, ID: id})),
			locks(ctx, tally.ID(id)),
		)
	}
	return append(all, seen(tallyAdd.On(id).Call(ctx, 0))), nil
})

// SectionLeftRequest says how to end.
type SectionLeftRequest struct {
	End string `json:"end"`
	ID  string `json:"id"`
}

// SectionLeft ends in a section.
var SectionLeft = cruster.NewWorkflow("SectionLeft", func(ctx cruster.Context, r SectionLeftRequest) (int64, error) {
	if _, err := cruster.Lock(ctx, tally.ID(r.ID)); err != nil {
		return 0, err
	}
	sum, err := tallyAdd.On(r.ID).Call(ctx, 1)
	switch {
	case err != nil:
		return 0, err
	case r.End == "error":
		return 0, cruster.Errorf("left", "it ended in a section")
	case r.End == "continue":
		return 0, cruster.ContinueAsNew(SectionLeftRequest{End: "value", ID: r.ID})
	}
	return sum, nil
})

// SectionShared sees no change of others in its section: neither of an execution that locks too,
// nor of a mere caller. Both go on after it.
var SectionShared = cruster.NewWorkflow("SectionShared", func(ctx cruster.Context, id string) ([]Seen, error) {
	section, err := cruster.Lock(ctx, tally.ID(id))
	if err != nil {
		return nil, err
	}
	locking, calling := SectionAdds.Client().WithKeyRaw(id), TallyReported.Client().WithKeyRaw(id)
	if _, err := locking.Start(ctx, id); err != nil {
		return nil, err
	}
	if _, err := calling.Start(ctx, id); err != nil {
		return nil, err
	}
	if err := cruster.Sleep(ctx, 20*time.Millisecond); err != nil {
		return nil, err
	}
	all := []Seen{
		seen(tallyRead.On(id).Call(ctx, cruster.None{})),
		seen(tallyAdd.On(id).Call(ctx, 5)),
		told(section.Unlock(ctx)),
	}
	for _, other := range []cruster.Future[int64]{locking.Go(ctx, id), calling.Go(ctx, id)} {
		if _, err := other.Await(ctx); err != nil {
			return nil, err
		}
	}
	return append(all, seen(tallyRead.On(id).Call(ctx, cruster.None{}))), nil
})

// SectionAdds adds ten under a lock.
var SectionAdds = cruster.NewWorkflow("SectionAdds", func(ctx cruster.Context, id string) (int64, error) {
	section, err := cruster.Lock(ctx, tally.ID(id), tally.ID(id+"-other"))
	if err != nil {
		return 0, err
	}
	sum, err := tallyAdd.On(id).Call(ctx, 10)
	if err != nil {
		return 0, err
	}
	return sum, section.Unlock(ctx)
})

// SectionInterrupted is asked to stop in its section, and cleans up there.
var SectionInterrupted = cruster.NewWorkflow(
	"SectionInterrupted",
	func(ctx cruster.Context, id string) ([]Seen, error) {
		section, err := cruster.Lock(ctx, tally.ID(id))
		if err != nil {
			return nil, err
		}
		all := []Seen{seen(tallyAdd.On(id).Call(ctx, 1))}
		if _, err := gate.Await(ctx); !errors.Is(err, cruster.ErrInterrupted) {
			return nil, cruster.Errorf("unexpected", "not interrupted: %v", err)
		}
		shielded := cruster.Shield(ctx)
		return append(all,
			seen(tallyAdd.On(id).Call(shielded, -1)),
			told(section.Unlock(ctx)),
			locks(shielded, tally.ID(id+"-other")),
		), nil
	},
).Accepts(gate)
