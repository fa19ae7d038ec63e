package main

import (
	"strings"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Double is a child without a key function.
var Double = cruster.NewWorkflow("Double", func(ctx cruster.Context, n int) (int, error) {
	if n < 0 {
		return 0, cruster.Errorf("negative", "%d is negative", n)
	}
	half, err := add.Call(ctx, []int{n, n})
	return half, err
})

// KeyedRequest has a field that decides the key and another one.
type KeyedRequest struct {
	ID    string `json:"id"`
	Other int    `json:"other"`
}

// HashedKey and RawKey have key functions.
var (
	HashedKey = cruster.NewWorkflow("HashedKey", keyed, cruster.HashedKey(func(r KeyedRequest) string { return r.ID }))
	RawKey    = cruster.NewWorkflow("RawKey", keyed, cruster.RawKey(rawKey))
)

func keyed(_ cruster.Context, r KeyedRequest) (int, error) { return r.Other, nil }

func rawKey(r KeyedRequest) string {
	if r.ID == "panic" {
		panic("no key for this")
	}
	return r.ID
}

// Call executes a child and waits for it.
var Call = cruster.NewWorkflow("Call", func(ctx cruster.Context, n int) (Seen, error) {
	return seen(Double.Client().Execute(ctx, n)), nil
})

// CallMisuse executes a child that is paused, and fails when the child fails.
var CallMisuse = cruster.NewWorkflow("CallMisuse", func(ctx cruster.Context, what string) (string, error) {
	return Misuse.Client().Execute(ctx, what)
})

// CallMany executes children at the same time.
var CallMany = cruster.NewWorkflow("CallMany", func(ctx cruster.Context, n int) (int, error) {
	var futures []cruster.Future[int]
	for i := range n {
		futures = append(futures, Double.Client().Go(ctx, 1000+i))
	}
	results, err := cruster.All(ctx, futures...)
	sum := 0
	for _, r := range results {
		sum += r
	}
	return sum, err
})

// CallKeys shows the effect of keys: children with the same key are one.
var CallKeys = cruster.NewWorkflow("CallKeys", func(ctx cruster.Context, key string) ([]any, error) {
	var out []any
	for i, client := range []cruster.Client[int, int]{
		Double.Client().WithKey(key), Double.Client().WithKey(key),
		Double.Client().WithKeyRaw(key), Double.Client().WithKeyRaw(key),
	} {
		n, err := client.Execute(ctx, i)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	id, err := Double.Client().WithKeyRaw(key).Start(ctx, 99)
	return append(out, id), err
})

// Follow starts a child that waits, watches it, lets it go on and takes its result.
var Follow = cruster.NewWorkflow("Follow", func(ctx cruster.Context, key string) ([]any, error) {
	id, err := Await.Client().Start(ctx, key)
	if err != nil {
		return nil, err
	}
	before, err := Await.Client().Poll(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, err := answer.ResolveIn(ctx, id, "go on"); err != nil {
		return nil, err
	}
	result, err := Await.Client().Execute(ctx, key)
	if err != nil {
		return nil, err
	}
	after, err := Await.Client().Poll(ctx, id)
	return []any{id, before.State, before.Done, result, after.State, after.Done, after.Result}, err
})

// FollowToTheEnd calls a child that waits, which others let go on, and takes its result.
var FollowToTheEnd = cruster.NewWorkflow("FollowToTheEnd", func(ctx cruster.Context, key string) (Seen, error) {
	return Await.Client().Execute(ctx, key)
})

// CallItself calls its own execution.
var CallItself = cruster.NewWorkflow("CallItself", func(ctx cruster.Context, _ cruster.None) ([]Seen, error) {
	id := cruster.ExecutionID(ctx)
	key := id[strings.LastIndex(id, "/")+1:]
	itself := cruster.RemoteWorkflow[cruster.None, any]("CallItself").WithKeyRaw(key)
	called := seen(itself.Execute(ctx, cruster.None{}))
	return []Seen{called, seen(itself.Start(ctx, cruster.None{}))}, nil
})

// CallWrong makes calls that fail.
var CallWrong = cruster.NewWorkflow("CallWrong", func(ctx cruster.Context, _ cruster.None) ([]Seen, error) {
	try := func(client cruster.Client[string, any]) Seen { return seen(client.Execute(ctx, "text")) }
	return []Seen{
		try(cruster.RemoteWorkflow[string, any]("nowhere/Double")),
		try(cruster.RemoteWorkflow[string, any]("Missing")),
		try(cruster.RemoteWorkflow[string, any]("Double")),
		try(cruster.RemoteWorkflow[string, any]("Await").WithKeyRaw("")),
		seen(Double.Client().Poll(ctx, "conformance/Double/no-such-key")),
		seen(Double.Client().Poll(ctx, "nonsense")),
		seen(answer.ResolveIn(ctx, "conformance/Double/no-such-key", "x")),
	}, nil
})
