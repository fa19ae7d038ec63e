package main

import (
	"errors"
	"strings"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// TendedRequest names a child, and the caller that it tells how it fares.
type TendedRequest struct {
	Caller string `json:"caller"`
	Name   string `json:"name"`
}

var (
	cleaned = cruster.NewDeferred[string]("cleaned")
	begun   = map[string]cruster.Deferred[string]{
		"killed":  cruster.NewDeferred[string]("killed"),
		"left":    cruster.NewDeferred[string]("left"),
		"stopped": cruster.NewDeferred[string]("stopped"),
	}
)

// Tended tells its caller that it has begun, and waits for the answer. If it is asked to stop, it
// tells its caller why. The caller may ask before this one knows that it has told.
var Tended = cruster.NewWorkflow("Tended", func(ctx cruster.Context, r TendedRequest) (string, error) {
	if _, err := begun[r.Name].ResolveIn(cruster.Shield(ctx), r.Caller, r.Name); err != nil {
		return "", err
	}
	text, err := answer.Await(ctx)
	if errors.Is(err, cruster.ErrInterrupted) {
		_, _ = cleaned.ResolveIn(cruster.Shield(ctx), r.Caller, cruster.InterruptReason(ctx)) // it may be over
	}
	return text, err
}, cruster.RawKey(func(r TendedRequest) string { return r.Caller + "/" + r.Name })).Accepts(answer)

func tended(ctx cruster.Context, name string) TendedRequest {
	return TendedRequest{Caller: cruster.ExecutionID(ctx), Name: name}
}

// GiveUp gives up three children, each in its own way, and sees their fate.
var GiveUp = cruster.NewWorkflow("GiveUp", func(ctx cruster.Context, _ cruster.None) ([]any, error) {
	client := Tended.Client()
	part, cancel := cruster.WithCancel(ctx)
	client.Go(part, tended(ctx, "stopped"))
	client.OnCancel(cruster.AbandonChild).Go(part, tended(ctx, "left"))
	client.OnCancel(cruster.TerminateChild).Go(part, tended(ctx, "killed"))
	for _, name := range []string{"stopped", "left", "killed"} {
		if _, err := begun[name].Await(ctx); err != nil {
			return nil, err
		}
	}
	cancel()
	why, err := cleaned.Await(ctx)
	if err != nil {
		return nil, err
	}
	left := tended(ctx, "left")
	if _, err := answer.ResolveIn(ctx, "conformance/Tended/"+left.Caller+"/left", "go on"); err != nil {
		return nil, err
	}
	out := []any{strings.HasSuffix(why, "does not wait for it any more")}
	for _, name := range []string{"stopped", "left", "killed"} {
		out = append(out, seen(client.Execute(ctx, tended(ctx, name))))
	}
	return out, nil
}).Accepts(cleaned, begun["killed"], begun["left"], begun["stopped"])

// GiveUpInterrupted is interrupted while it waits for a child, and waits behind a shield until
// that has cleaned up.
var GiveUpInterrupted = cruster.NewWorkflow(
	"GiveUpInterrupted",
	func(ctx cruster.Context, _ cruster.None) ([]any, error) {
		call := Tended.Client().Go(ctx, tended(ctx, "stopped"))
		if _, err := begun["stopped"].Await(ctx); err != nil {
			return nil, err
		}
		_, err := call.Await(ctx)
		if !errors.Is(err, cruster.ErrInterrupted) {
			return nil, cruster.Errorf("unexpected", "not interrupted: %v", err)
		}
		shielded := cruster.Shield(ctx)
		why, err := cleaned.Await(shielded)
		if err != nil {
			return nil, err
		}
		ended := seen(Tended.Client().Execute(shielded, tended(ctx, "stopped")))
		return []any{strings.HasSuffix(why, "does not wait for it any more: enough"), ended}, nil
	},
).Accepts(cleaned, begun["stopped"])

// GiveUpAtItsEnd ends while a child is running.
var GiveUpAtItsEnd = cruster.NewWorkflow("GiveUpAtItsEnd", func(ctx cruster.Context, end string) (string, error) {
	Tended.Client().Go(ctx, tended(ctx, "stopped"))
	if _, err := begun["stopped"].Await(ctx); err != nil {
		return "", err
	}
	if end == "failed" {
		return "", cruster.Errorf("broken", "it broke")
	}
	return end, nil
}).Accepts(cleaned, begun["stopped"])

// AwaitsGivenUp waits for the child of an execution that has ended.
var AwaitsGivenUp = cruster.NewWorkflow("AwaitsGivenUp", func(ctx cruster.Context, caller string) (Seen, error) {
	return seen(Tended.Client().Execute(ctx, TendedRequest{Caller: caller, Name: "stopped"})), nil
})

// Interrupts asks other executions to stop.
var Interrupts = cruster.NewWorkflow("Interrupts", func(ctx cruster.Context, _ cruster.None) ([]any, error) {
	client := Tended.Client()
	id, err := client.Start(ctx, tended(ctx, "stopped"))
	if err != nil {
		return nil, err
	}
	if _, err := begun["stopped"].Await(ctx); err != nil {
		return nil, err
	}
	if err := client.Interrupt(ctx, id, "enough"); err != nil {
		return nil, err
	}
	why, err := cleaned.Await(ctx)
	if err != nil {
		return nil, err
	}
	out := []any{why, seen(client.Execute(ctx, tended(ctx, "stopped")))}
	over := Double.Client().WithKeyRaw(cruster.ExecutionID(ctx))
	if _, err := over.Execute(ctx, 1); err != nil {
		return nil, err
	}
	for _, other := range []string{id, "conformance/Tended/none", "conformance/Double/" + cruster.ExecutionID(ctx)} {
		out = append(out, seen(nil, client.Interrupt(ctx, other, "late")))
	}
	return out, nil
}).Accepts(cleaned, begun["stopped"])
