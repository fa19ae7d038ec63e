//go:build wasip1

package main

import (
	"unsafe"

	"github.com/cruster/cruster/abi"
)

func main() {}

//go:wasmexport cruster_abi
func exportABI() int32 { return abi.Version }

//go:wasmexport cruster_describe
func exportDescribe() {
	put(abi.MustMarshal(abi.Manifest{
		Activities: []abi.ActivityInfo{{Name: "raw"}},
		SDK:        "raw",
		Workflows: []abi.WorkflowInfo{
			{Key: abi.KeyFromRequest, Name: "Raw"},
			{Key: abi.KeyFromFunctionRaw, Name: "RawKey"},
		},
	}))
}

// The state of the running workflow.
var (
	script  Script
	results []Result
	open    = map[uint32]string{} // ops that the host accepted, by number
	seen    []abi.Delivery
)

//go:wasmexport cruster_start
func exportStart(n uint32) int32 {
	var inv abi.Invocation
	must(abi.Unmarshal(take(n), &inv))
	if abi.Unmarshal(inv.Body, &script) != nil {
		return finish("this is not a script")
	}
	switch {
	case inv.Kind == abi.InvokeKey && script.Where != "key":
		return finish("a-key")
	case inv.Kind == abi.InvokeWorkflow && script.Where == "key":
		return finish("the key was " + inv.Execution)
	case inv.Kind == abi.InvokeWorkflow && script.Where == "activity":
		issue(Step{Import: abi.OpActivity, Body: abi.MustMarshal(abi.Activity{Input: inv.Body, Name: "raw"})})
		return abi.StatusParked
	}
	for _, s := range script.Steps {
		for range max(s.Times, 1) {
			r := issue(s)
			if s.Times <= 1 || r.Code != "" {
				results = append(results, r)
			}
		}
	}
	if script.Await && inv.Kind == abi.InvokeWorkflow {
		for number, kind := range open {
			switch kind {
			case abi.OpSleep, abi.OpDeferred, abi.OpReceive, abi.OpUpdate, abi.OpInterrupted:
				cancel(number)
				delete(open, number)
			}
		}
		if len(open) > 0 {
			return abi.StatusParked
		}
	}
	return end()
}

//go:wasmexport cruster_resume
func exportResume(n uint32) int32 {
	var r abi.Resume
	must(abi.Unmarshal(take(n), &r))
	for _, d := range r.Deliveries {
		seen = append(seen, d)
		delete(open, d.Op)
	}
	if len(open) > 0 {
		return abi.StatusParked
	}
	if script.Where != "activity" {
		return end()
	}
	if e := seen[0].Error; e != nil {
		give(abi.Outcome{Error: e})
	} else {
		give(abi.Outcome{Value: seen[0].Value})
	}
	return abi.StatusDone
}

// end finishes as the script wants it.
func end() int32 {
	if script.Output == nil && script.Status == nil {
		return finish(results)
	}
	for _, b := range script.Output {
		put(b)
	}
	if script.Status != nil {
		return *script.Status
	}
	return abi.StatusDone
}

func finish(v any) int32 {
	give(abi.Outcome{Value: abi.MustMarshal(v)})
	return abi.StatusDone
}

func give(o abi.Outcome) { put(abi.MustMarshal(o)) }

// issue makes one call.
func issue(s Step) Result {
	p, size := pointer(s.Body), uint32(len(s.Body))
	if s.Ptr != nil {
		p = unsafe.Add(unsafe.Pointer(nil), *s.Ptr)
	}
	if s.Len != nil {
		size = *s.Len
	}
	switch s.Import {
	case abi.ImportInput:
		input(p)
		return Result{}
	case abi.ImportOutput:
		output(p, size)
		return Result{}
	case abi.ImportLog:
		log(s.Number, p, size)
		return Result{}
	case abi.ImportCancel:
		cancel(uint32(s.Number))
		return Result{}
	}
	var n int32
	if s.Import == abi.ImportOperation {
		n = operation(uint32(s.Number))
	} else {
		n = imports[s.Import](p, size)
	}
	if n < 0 {
		var refused abi.Error
		must(abi.Unmarshal(take(uint32(-n)), &refused))
		return Result{Code: string(refused.Code), N: n}
	}
	if immediate[s.Import] {
		take(uint32(n))
		return Result{N: n}
	}
	open[uint32(n)] = s.Import
	return Result{N: n}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
