// Package adapter is the peers' side of the protocol of the benchmark: lines of JSON on standard input and output.
// bench/adapter.go of the repository is the other side.
//
// It imports nothing but the standard library.
package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// An Operation is a workflow to run. Sequence and Parallel take N steps, which return their numbers, and return the
// sum; Sleeper sleeps until Due (milliseconds since 1970), takes a step that reads the clock, and returns it in
// microseconds.
type Operation struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	N    int    `json:"n"`
	Due  int64  `json:"due"`
	// Object is the counter to which an Add, which is no workflow, adds N.
	Object string `json:"object"`
}

// A Peer runs operations in the way its users do.
type Peer interface {
	// Start returns when the operation is durable.
	Start(ctx context.Context, op Operation) error
	// Wait returns the result of an operation that was started.
	Wait(ctx context.Context, op Operation) (int64, error)
}

// An Executor is a peer whose users start and wait in one call.
type Executor interface {
	Execute(ctx context.Context, op Operation) (int64, error)
}

// Hello is the first line of an adapter.
type Hello struct {
	Version string `json:"version"`
	PIDs    []int  `json:"pids"`
}

type call struct {
	ID   int    `json:"id"`
	Verb string `json:"verb"`
	Operation
}

type answer struct {
	ID    int    `json:"id"`
	Value int64  `json:"value"`
	Nanos int64  `json:"nanos"`
	Error string `json:"error"`
}

// Serve answers calls until standard input ends. Each runs on a goroutine of its own, and its time is taken here, so
// that the pipe is no part of it.
func Serve(ctx context.Context, peer Peer, hello Hello) error {
	var mu sync.Mutex // guards out
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(hello); err != nil {
		return err
	}
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var c call
		if err := in.Decode(&c); err != nil {
			return nil // the end of the input is the end of the work
		}
		// It ends with the process: no harness waits for calls after the end of the input.
		go func() {
			a := do(ctx, peer, c)
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(a)
		}()
	}
}

func do(ctx context.Context, peer Peer, c call) answer {
	a, start := answer{ID: c.ID}, time.Now()
	var err error
	switch c.Verb {
	case "start":
		err = peer.Start(ctx, c.Operation)
	case "wait":
		a.Value, err = peer.Wait(ctx, c.Operation)
	case "execute":
		if executor, ok := peer.(Executor); ok {
			a.Value, err = executor.Execute(ctx, c.Operation)
		} else if err = peer.Start(ctx, c.Operation); err == nil {
			a.Value, err = peer.Wait(ctx, c.Operation)
		}
	default:
		err = fmt.Errorf("there is no verb %q", c.Verb)
	}
	a.Nanos = time.Since(start).Nanoseconds()
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// Arguments are the folder and the connection string that the harness passes.
func Arguments() (dir, dsn string) {
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if len(os.Args) > 2 {
		dsn = os.Args[2]
	}
	return dir, dsn
}

// Fail ends the process with an error.
func Fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
