package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

// Bare takes steps without arguments and without results, before the gate and behind it.
var Bare = cruster.NewWorkflow("Bare", func(ctx cruster.Context, id string) ([]Seen, error) {
	before := bareSteps(ctx, id)
	if _, err := gate.Await(ctx); err != nil {
		return nil, err
	}
	return append(before, bareSteps(ctx, id)...), nil
}, cruster.RawKey(func(id string) string { return id })).Accepts(gate, nudge)

// nudge is a signal without a value.
var nudge = cruster.NewSignal[cruster.None]("nudge")

// BareChild asks for nothing, and yields nothing.
var BareChild = cruster.NewWorkflow("BareChild", func(cruster.Context, cruster.None) (cruster.None, error) {
	return cruster.None{}, nil
})

var bare = cruster.NewActivity("bare", func(*cruster.ActivityContext, cruster.None) (cruster.None, error) {
	return cruster.None{}, nil
})

func bareSteps(ctx cruster.Context, id string) []Seen {
	_, inActivity := bare.Call(ctx, cruster.None{})
	_, inChild := BareChild.Client().Execute(ctx, cruster.None{})
	inSignal := nudge.Send(ctx, cruster.ExecutionID(ctx), cruster.None{})
	_, received := nudge.Receive(ctx)
	return []Seen{
		told(inActivity), told(inChild), told(inSignal), told(received),
		seen(healthCheck.Of(ledger).On(id).Call(ctx, cruster.None{})),
		told(healthCheck.Of(ledger).On(id).Send(ctx, cruster.None{})),
	}
}
