//go:build wasip1

// Command raw is a guest without an SDK. Its request is a script that decides everything, even the pointers that it
// passes. The tests of tests/hostile use it to pass any bytes to any import, from a workflow, an activity or a key
// function.
package main

// Script is the request: what to do, and where.
type Script struct {
	// Await parks until every op that the host accepted has been delivered. Ops that may never end are cancelled first.
	Await bool `msgpack:"await"`
	// Output, if set, is handed over instead of a proper outcome.
	Output [][]byte `msgpack:"output"`
	// Status, if set, is returned instead of "done".
	Status *int32 `msgpack:"status"`
	Steps  []Step `msgpack:"steps"`
	// Where is "workflow", "activity" or "key".
	Where string `msgpack:"where"`
}

// Step is one call of an import.
type Step struct {
	Body   []byte `msgpack:"body"`
	Import string `msgpack:"import"`
	// Len and Ptr, if set, are passed instead of the body's.
	Len *uint32 `msgpack:"len"`
	Ptr *uint32 `msgpack:"ptr"`
	// Number is the argument of cancel, log and operation.
	Number int32 `msgpack:"number"`
	// Times repeats the call; 0 means once.
	Times int `msgpack:"times"`
}

// Result is the result of a step.
type Result struct {
	// Code is the code of a refusal.
	Code string `msgpack:"code"`
	// N is the result of the import.
	N int32 `msgpack:"n"`
}
