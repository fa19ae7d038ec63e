//go:build wasip1

// Command golden is the guest of the golden journals: one workflow that touches all
// that a guest can observe, and returns it. The same module exists in Rust. Modules
// that were recorded are kept as binaries, so this source may change: it is for the
// next format.
package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

func main() {}

// Request is the request to the workflow.
type Request struct {
	// Calls are made to imports that refuse them, or whose ops are given up.
	Calls []Call `json:"calls"`
	// Pages is the limit of the memory, in pages of 64 KiB. Go cannot grow its memory
	// by itself.
	Pages int64 `json:"pages"`
}

// Saw is one thing that the workflow has seen.
type Saw struct {
	Value any    `json:"value"`
	What  string `json:"what"`
}

// seen collects the observations of a workflow.
type seen []Saw

func (s *seen) add(what string, value any) { *s = append(*s, Saw{What: what, Value: value}) }

// result adds the outcome of a call, with all that an error says.
func (s *seen) result(what string, value any, err error) {
	if err == nil {
		s.add(what, value)
		return
	}
	details, _ := cruster.Details[any](err)
	s.add(what, map[string]any{"code": cruster.ErrorCode(err), "details": details, "text": err.Error(), "type": cruster.ErrorType(err)})
}

// Everything is the workflow. Tests settle its deferreds, and interrupt it at its
// end.
var Everything = cruster.NewWorkflow("Everything", func(ctx cruster.Context, r Request) ([]Saw, error) {
	var saw seen
	saw.machine(ctx)
	saw.chance(ctx)
	opened := cruster.Async(ctx, open.Await)
	if err := cruster.Sleep(ctx, millisecond); err != nil {
		return nil, err
	}
	saw.refusals(r.Calls)
	_, err := opened.Await(ctx)
	saw.result("opened", nil, err)
	saw.clock(ctx)
	saw.steps(ctx)
	saw.deferreds(ctx)
	saw.callees(ctx)
	saw.waits(ctx)
	saw.chance(ctx)
	saw.interrupt(ctx)
	return saw, nil
}, cruster.RawKey(func(Request) string { return "everything" })).Accepts(open, answer, denied, own, late, never)
