// Command reference is an adapter that runs operations in memory and keeps nothing. It shows the cost of the harness
// itself, and keeps the protocol tested where no peer is installed. It imports the standard library only.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cruster/cruster/bench/peers/internal/adapter"
)

type peer struct {
	results sync.Map // key → chan int64

	mu       sync.Mutex
	counters map[string]int64 // guarded by mu
}

func main() {
	adapter.Fail(adapter.Serve(
		context.Background(), &peer{counters: map[string]int64{}}, adapter.Hello{Version: "in memory"},
	))
}

// Start runs the operation on a goroutine.
func (p *peer) Start(_ context.Context, op adapter.Operation) error {
	result := make(chan int64, 1)
	if _, exists := p.results.LoadOrStore(op.Key, result); exists {
		return fmt.Errorf("%s was started before", op.Key)
	}
	if op.Kind == "Add" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.counters[op.Object] += int64(op.N)
		result <- p.counters[op.Object]
		return nil
	}
	go func() {
		if op.Kind == "Sleeper" {
			time.Sleep(time.Until(time.UnixMilli(op.Due)))
			result <- time.Now().UnixMicro()
			return
		}
		result <- int64(op.N) * int64(op.N-1) / 2
	}()
	return nil
}

// Wait waits for the goroutine.
func (p *peer) Wait(_ context.Context, op adapter.Operation) (int64, error) {
	result, ok := p.results.Load(op.Key)
	if !ok {
		return 0, fmt.Errorf("%s was not started", op.Key)
	}
	return <-result.(chan int64), nil
}
