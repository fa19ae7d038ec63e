package kill9_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/client"
	"github.com/cruster/cruster/internal/harness"
)

type object = map[string]any

// record is what a client was told about one execution. Only what was acknowledged
// is in it: a request without a reply may have taken effect or not.
type record struct {
	kind, key   string // what was asked for
	execution   string
	settled     string  // the value that was settled, if that was acknowledged
	interrupted bool    // an interrupt was acknowledged
	result      *result // if the client waited for it
}

// result is how an execution ended.
type result struct {
	state client.State
	value string // JSON
}

// load is a group of clients that make requests and record what they are told.
type load struct {
	stopped atomic.Bool
	news    chan struct{} // receives after a start was acknowledged
	wait    sync.WaitGroup
	mu      sync.Mutex
	records []*record // guarded by mu
}

func startLoad(t *testing.T, seed uint64, p *harness.Process) *load {
	l := &load{news: make(chan struct{}, 1)}
	for i := range clients {
		c, random := dial(t, p), randomOf(t, seed, fmt.Sprint("client", i))
		l.wait.Go(func() {
			first := random.IntN(len(kinds))
			for n := 0; !l.stopped.Load(); n++ {
				l.one(c, kinds[(first+n)%len(kinds)], fmt.Sprintf("c%d-%d", i, n), random)
			}
		})
	}
	return l
}

// kinds are what the clients ask for, in turn.
var kinds = []string{"order", "order interrupted", "transfer", "approval settled", "approval interrupted"}

// one makes the requests of one execution. All that it draws it draws at once, so
// that what comes later does not depend on how the host answers.
func (l *load) one(c *client.Client, kind, key string, random *rand.Rand) {
	from, waits := random.IntN(accounts), random.IntN(2) == 0
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	rec := &record{kind: kind, key: key}
	run, err := start(ctx, c, rec, from)
	if err != nil {
		return
	}
	rec.execution = run.Execution()
	l.add(rec)
	switch kind {
	case "approval settled":
		value := "person-" + key
		if l.insist(ctx, func() error { return run.Resolve(ctx, "approved", object{"approved": true, "by": value}) }, abi.CodeDeferredSettled) {
			rec.settled = value
		}
	case "order interrupted":
		rec.interrupted = l.insist(ctx, func() error { return run.Interrupt(ctx, "changed my mind") })
	case "approval interrupted":
		rec.interrupted = l.insist(ctx, func() error {
			err := run.Interrupt(ctx, "changed my mind")
			if abi.CodeOf(err) == abi.CodeAlreadyOver {
				return nil // the client has repeated it by itself: nothing else ends this execution
			}
			return err
		})
	}
	if waits {
		rec.result = resultOf(ctx, run)
	}
}

func start(ctx context.Context, c *client.Client, rec *record, from int) (client.Run[any], error) {
	switch rec.kind {
	case "transfer":
		return client.Workflow[object, any](c, "transfer/Transfer").Start(ctx, object{
			"transfer_id": rec.key, "from": account(from), "to": account(from + 1), "amount_cents": 1,
		})
	case "order", "order interrupted":
		return client.Workflow[object, any](c, "orders/ProcessOrder").Start(ctx, object{
			"order_id": rec.key, "email": "a@example.com", "cooling_off_ms": 20,
			"items": []object{{"sku": "pear", "quantity": 1, "price_cents": 100}},
		})
	default:
		return client.Workflow[object, any](c, "approval/RequestApproval").Start(ctx, object{"document": rec.key})
	}
}

// insist repeats a request that got no reply. It reports whether the host has
// acknowledged it: with no error, or, when it was repeated, by saying that it was
// done before. No other client makes this request.
func (l *load) insist(ctx context.Context, request func() error, before ...abi.Code) bool {
	for again := false; ; again = true {
		err := request()
		switch code := abi.CodeOf(err); {
		case err == nil:
			return true
		case again && len(before) > 0 && code == before[0]:
			return true
		case code != abi.CodeUnreachable && code != abi.CodeShuttingDown || ctx.Err() != nil:
			return false
		}
	}
}

// resultOf waits for the end of an execution. It is nil if there was no reply.
func resultOf(ctx context.Context, run client.Run[any]) *result {
	value, err := run.Wait(ctx)
	var failed *client.RunError
	switch {
	case errors.As(err, &failed):
		return &result{failed.State, fmt.Sprintf("%q", failed.Cause.Message)}
	case err != nil:
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it came out of msgpack
	}
	return &result{client.Completed, string(text)}
}

func (l *load) add(rec *record) {
	l.mu.Lock()
	l.records = append(l.records, rec)
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// awaitAcknowledged waits until the host serves clients. The first signal may be
// from before the last kill, the second is not.
func (l *load) awaitAcknowledged() {
	<-l.news
	<-l.news
}

func (l *load) stop() []*record {
	l.stopped.Store(true)
	l.wait.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.records
}
