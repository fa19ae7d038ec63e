package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// TallyState is the state of a tally.
type TallyState struct {
	// Born is the id of the tally, as its creation saw it.
	Born string `json:"born"`
	N    int64  `json:"n"`
}

var tally = cruster.NewStatefulEntity[TallyState]("Tally").OnCreate(
	func(ctx *cruster.EntityContext, s *TallyState) error {
		if ctx.ID() == "unborn" {
			return cruster.Errorf("unborn", "there shall be none")
		}
		s.Born = ctx.ID()
		return nil
	},
)

// tallyAdd adds, and fails too late if the sum is below zero.
var tallyAdd = cruster.NewOperation(
	tally,
	"add",
	func(_ *cruster.EntityContext, s *TallyState, n int64) (int64, error) {
		s.N += n
		if s.N < 0 {
			return 0, cruster.Errorf("below_zero", "the sum would be %d", s.N)
		}
		return s.N, nil
	},
)

var tallyRead = cruster.NewReadOnly(
	tally,
	"read",
	func(_ *cruster.ReadContext, s TallyState, _ cruster.None) (TallyState, error) {
		return s, nil
	},
)

var tallyDrop = cruster.NewOperation(
	tally,
	"drop",
	func(ctx *cruster.EntityContext, s *TallyState, _ cruster.None) (int64, error) {
		ctx.Destroy()
		return s.N, nil
	},
)

// PassRequest names another tally, and how much it gets.
type PassRequest struct {
	N  int64  `json:"n"`
	To string `json:"to"`
}

// tallyPass sends a part to another tally, and fails too late if there is not so much.
var tallyPass = cruster.NewOperation(
	tally,
	"pass",
	func(ctx *cruster.EntityContext, s *TallyState, r PassRequest) (int64, error) {
		s.N -= r.N
		if err := tallyAdd.On(r.To).Send(ctx, r.N); err != nil {
			return 0, err
		}
		if s.N < 0 {
			return 0, cruster.Errorf("below_zero", "the sum would be %d", s.N)
		}
		return s.N, nil
	},
)

// tallyReport starts a workflow that adds a thousand.
var tallyReport = cruster.NewOperation(
	tally,
	"report",
	func(ctx *cruster.EntityContext, _ *TallyState, _ cruster.None) (bool, error) {
		return true, TallyReported.Client().WithKeyRaw(ctx.ID()).StartFrom(ctx, ctx.ID())
	},
)

// tallyPanic crashes, with a change that no other operation may see.
var tallyPanic = cruster.NewOperation(
	tally,
	"panic",
	func(_ *cruster.EntityContext, s *TallyState, _ cruster.None) (int64, error) {
		s.N = -1
		panic("on purpose")
	},
)

// Spin never ends if it is asked not to.
var _ = cruster.NewOperation(tally, "spin", func(_ *cruster.EntityContext, s *TallyState, endless bool) (int64, error) {
	for endless {
		s.N++
	}
	return s.N, nil
})

var ledger = cruster.NewEntity("Ledger").Include(health)

// health is a group of operations, as others may share it.
var health = cruster.NewRPCGroup("Health")

var healthCheck = cruster.NewGroupRPC(health, "check", func(ctx *cruster.RPCContext, _ cruster.None) (string, error) {
	return ctx.ID() + " is well", nil
})

// ledgerNote counts in SQL, and fails behind its statement if it is asked to.
var ledgerNote = cruster.NewRPC(ledger, "note", func(ctx *cruster.RPCContext, fail bool) (int64, error) {
	_, err := ctx.Tx().Exec(countUp, ctx.ID())
	if err != nil {
		return 0, err
	}
	if fail {
		return 0, cruster.Errorf("after_sql", "it failed after its statement")
	}
	return cruster.QueryRow[int64](ctx.Tx(), `SELECT n FROM counters WHERE name = $1`, ctx.ID())
}, cruster.Persisted())

var ledgerRead = cruster.NewRPC(ledger, "read", func(ctx *cruster.RPCContext, _ cruster.None) (int64, error) {
	return cruster.QueryRow[int64](ctx.Tx(), `SELECT n FROM counters WHERE name = $1`, ctx.ID())
})

// TallyLife calls a tally from before it is there to its second life.
var TallyLife = cruster.NewWorkflow("TallyLife", func(ctx cruster.Context, id string) ([]Seen, error) {
	return []Seen{
		seen(tallyRead.On(id).Call(ctx, cruster.None{})),
		seen(tallyAdd.On(id).Call(ctx, 5)),
		seen(tallyAdd.On(id).Call(ctx, -9)),
		seen(tallyRead.On(id).Call(ctx, cruster.None{})),
		seen(tallyDrop.On(id).Call(ctx, cruster.None{})),
		seen(tallyRead.On(id).Call(ctx, cruster.None{})),
		seen(tallyAdd.On(id).Call(ctx, 1)),
	}, nil
})

// TallySends sends, and sees with its next call the effect of all messages.
var TallySends = cruster.NewWorkflow("TallySends", func(ctx cruster.Context, id string) (TallyState, error) {
	for _, n := range []int64{1, -5, 20, 300} {
		if err := tallyAdd.On(id).Send(ctx, n); err != nil {
			return TallyState{}, err
		}
	}
	return tallyRead.On(id).Call(ctx, cruster.None{})
})

// TallyPasses has a tally pass parts to another one. A refused call has sent nothing.
var TallyPasses = cruster.NewWorkflow("TallyPasses", func(ctx cruster.Context, id string) ([]Seen, error) {
	other := id + "-other"
	all := []Seen{seen(tallyAdd.On(id).Call(ctx, 10))}
	for _, n := range []int64{4, 100, 1} {
		all = append(all, seen(tallyPass.On(id).Call(ctx, PassRequest{N: n, To: other})))
	}
	return append(all, seen(awaitTally(ctx, other, 5))), nil
})

// TallyReports has a tally start a workflow, which calls it.
var TallyReports = cruster.NewWorkflow("TallyReports", func(ctx cruster.Context, id string) ([]Seen, error) {
	return []Seen{
		seen(tallyAdd.On(id).Call(ctx, 3)),
		seen(tallyReport.On(id).Call(ctx, cruster.None{})),
		seen(tallyReport.On(id).Call(ctx, cruster.None{})),
		seen(awaitTally(ctx, id, 1003)),
	}, nil
})

// awaitTally waits until a tally has at least a sum.
func awaitTally(ctx cruster.Context, id string, sum int64) (TallyState, error) {
	for {
		s, err := tallyRead.On(id).Call(ctx, cruster.None{})
		if err != nil || s.N >= sum {
			return s, err
		}
		if err := cruster.Sleep(ctx, time.Millisecond); err != nil {
			return s, err
		}
	}
}

// TallyReported is the workflow that a tally starts.
var TallyReported = cruster.NewWorkflow("TallyReported", func(ctx cruster.Context, id string) (int64, error) {
	return tallyAdd.On(id).Call(ctx, 1000)
})

// TallyErrors makes calls that fail.
var TallyErrors = cruster.NewWorkflow("TallyErrors", func(ctx cruster.Context, id string) ([]Seen, error) {
	return []Seen{
		seen(tallyAdd.On(id).Call(ctx, 1)),
		seen(tallyPanic.On(id).Call(ctx, cruster.None{})),
		seen(tallyAdd.On(id).Call(ctx, 1)),
		seen(tallyAdd.On("unborn").Call(ctx, 1)),
		seen(cruster.RemoteOperation[string, int64]("conformance/Tally", "add").On(id).Call(ctx, "one")),
		seen(cruster.RemoteOperation[int64, int64]("conformance/Tally", "nothing").On(id).Call(ctx, 1)),
		seen(cruster.RemoteOperation[int64, int64]("conformance/Missing", "add").On(id).Call(ctx, 1)),
		told(cruster.RemoteOperation[int64, int64]("conformance/Missing", "add").On(id).Send(ctx, 1)),
	}, nil
})

// TallyTogether has calls under way at the same time.
var TallyTogether = cruster.NewWorkflow("TallyTogether", func(ctx cruster.Context, id string) (int64, error) {
	var all []cruster.Future[int64]
	for range 10 {
		all = append(all, tallyAdd.On(id).Go(ctx, 1))
	}
	if _, err := cruster.All(ctx, all...); err != nil {
		return 0, err
	}
	return tallyAdd.On(id).Call(ctx, 0)
})

// TallyWatched waits at the gate between two calls.
var TallyWatched = cruster.NewWorkflow("TallyWatched", func(ctx cruster.Context, id string) ([]Seen, error) {
	first := seen(tallyAdd.On(id).Call(ctx, 1))
	if _, err := gate.Await(ctx); err != nil {
		return nil, err
	}
	return []Seen{first, seen(tallyRead.On(id).Call(ctx, cruster.None{}))}, nil
}).Accepts(gate)

// TallySum adds by a call and by a message, and returns the sum.
var TallySum = cruster.NewWorkflow("TallySum", func(ctx cruster.Context, id string) (int64, error) {
	if _, err := tallyAdd.On(id).Call(ctx, 100); err != nil {
		return 0, err
	}
	if err := tallyAdd.On(id).Send(ctx, 10_000); err != nil {
		return 0, err
	}
	return tallyAdd.On(id).Call(ctx, 0)
})

// LedgerNotes calls an entity without a state, which has its own in SQL, and an operation of a
// group that it includes.
var LedgerNotes = cruster.NewWorkflow("LedgerNotes", func(ctx cruster.Context, id string) ([]Seen, error) {
	return []Seen{
		seen(ledgerNote.On(id).Call(ctx, false)),
		seen(ledgerNote.On(id).Call(ctx, true)),
		told(ledgerNote.On(id).Send(ctx, false)),
		seen(ledgerNote.On(id).Call(ctx, false)),
		seen(ledgerRead.On(id).Call(ctx, cruster.None{})),
		seen(healthCheck.Of(ledger).On(id).Call(ctx, cruster.None{})),
	}, nil
})
