package main

import (
	"bytes"
	"strings"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Echo sends any value through an activity and returns it.
var Echo = cruster.NewWorkflow("Echo", func(ctx cruster.Context, v any) (any, error) {
	return echo.Call(ctx, v)
})

var echo = cruster.NewActivity("echo", func(_ *cruster.ActivityContext, v any) (any, error) { return v, nil })

// Everything has a field of every kind that a request can have.
type Everything struct {
	Absent  *string            `json:"absent,omitempty"`
	Bool    bool               `json:"bool"`
	Bytes   []byte             `json:"bytes"`
	Float32 float32            `json:"float32"`
	Float64 float64            `json:"float64"`
	Int64   int64              `json:"int64"`
	Int8    int8               `json:"int8"`
	List    []int              `json:"list"`
	Map     map[string]int     `json:"map"`
	Nested  struct{ A, B int } `json:"nested"`
	Pointer *string            `json:"pointer"`
	String  string             `json:"string"`
	Time    time.Time          `json:"time"`
	Uint64  uint64             `json:"uint64"`
}

// EchoTyped sends a struct of all kinds through an activity and returns it.
var EchoTyped = cruster.NewWorkflow("EchoTyped", func(ctx cruster.Context, v Everything) (Everything, error) {
	return echoTyped.Call(ctx, v)
})

var echoTyped = cruster.NewActivity("echoTyped", func(_ *cruster.ActivityContext, v Everything) (Everything, error) {
	return v, nil
})

// Bulk sends many bytes through an activity, and returns how many came back unchanged.
var Bulk = cruster.NewWorkflow("Bulk", func(ctx cruster.Context, size int) (int, error) {
	sent := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	got, err := bulk.Call(ctx, sent)
	if err != nil || !bytes.Equal(sent, got) {
		return -1, err
	}
	return len(got), nil
})

var bulk = cruster.NewActivity("bulk", func(_ *cruster.ActivityContext, b []byte) ([]byte, error) { return b, nil })

// Huge has a result, or the input of an activity, above the limit.
var Huge = cruster.NewWorkflow("Huge", func(ctx cruster.Context, where string) (string, error) {
	const above = 5 << 20
	switch where {
	case "result":
		return strings.Repeat("x", above), nil
	case "just above":
		// Within the limit of a body, above the limit of a value.
		return strings.Repeat("x", 4<<20-1<<10), nil
	case "activity input":
		_, err := bulk.Call(ctx, make([]byte, above))
		return cruster.ErrorCode(err), nil
	case "activity result":
		_, err := makeBytes.Call(ctx, above)
		return cruster.ErrorCode(err), nil
	}
	return "", cruster.Errorf("unknown", "nothing is huge in %q", where)
})

var makeBytes = cruster.NewActivity("makeBytes", func(_ *cruster.ActivityContext, n int) ([]byte, error) {
	return make([]byte, n), nil
})
