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
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

type object = map[string]any

// record holds the replies to a client about one execution. Only answered requests are in it: a request without a reply
// may have taken effect or not.
type record struct {
	kind, key string // of the request
	execution string
	answer    answer       // to the settle or the interrupt
	refused   error        // an answer that such a request must never get
	polled    client.State // right after the answer "over", if there was a reply
	result    *result      // if the client waited for it
}

// answer is the host's last reply to a settle or an interrupt.
type answer int

const (
	// silent: there was no reply.
	silent answer = iota
	// taken: the host has done it, now or, for a settle that was repeated, the first time.
	taken
	// over: the execution had ended. Only an interrupt may get this answer: nothing but the settle ends an approval
	// that is to be settled, and a settle that took effect is found also after the end. Whether the interrupt itself
	// was why, in a try that had no reply, the client cannot know, as it repeats interrupts by itself: [checkInterrupt]
	// can.
	over
)

// by is the settler of an approval.
func (rec *record) by() string { return "person-" + rec.key }

// reason is why an execution is interrupted. No other request has the same.
func (rec *record) reason() string { return rec.key + " changed its mind" }

// result is how an execution ended.
type result struct {
	state client.State
	value string // JSON
}

// load is a group of clients that make requests and record the replies.
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
		c, random := dial(t, p), harness.Random(t, seed, fmt.Sprint("client", i))
		l.wait.Go(func() {
			first := random.IntN(len(kinds))
			for n := 0; !l.stopped.Load(); n++ {
				l.one(c, kinds[(first+n)%len(kinds)], fmt.Sprintf("c%d-%d", i, n), random)
			}
		})
	}
	return l
}

// kinds are the kinds of requests, in turn.
var kinds = []string{"order", "order interrupted", "transfer", "approval settled", "approval interrupted"}

// one makes the requests of one execution. All that it draws it draws at once, so that later requests do not depend
// on how the host answers.
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
		rec.settle(ctx, run)
	case "order interrupted", "approval interrupted":
		rec.interrupt(ctx, run)
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

// settle settles the deferred of an approval. "Settled before" is an acknowledgement if the request was repeated: no
// other client makes it.
func (rec *record) settle(ctx context.Context, run client.Run[any]) {
	tries := 0
	err := insist(ctx, func() error {
		tries++
		return run.Resolve(ctx, "approved", object{"approved": true, "by": rec.by()})
	})
	switch {
	case err == nil, tries > 1 && abi.CodeOf(err) == abi.CodeDeferredSettled:
		rec.answer = taken
	case !unanswered(ctx, err):
		rec.refused = err
	}
}

// interrupt asks an execution to stop.
func (rec *record) interrupt(ctx context.Context, run client.Run[any]) {
	err := insist(ctx, func() error { return run.Interrupt(ctx, rec.reason()) })
	switch {
	case err == nil:
		rec.answer = taken
	case abi.CodeOf(err) == abi.CodeAlreadyOver:
		rec.answer = over
		if status, err := run.Poll(ctx); err == nil {
			rec.polled = status.State
		}
	case !unanswered(ctx, err):
		rec.refused = err
	}
}

// insist repeats a request until it gets a reply.
func insist(ctx context.Context, request func() error) error {
	for {
		if err := request(); err == nil || !unanswered(ctx, err) || ctx.Err() != nil {
			return err
		}
	}
}

// unanswered tells whether the host said nothing of a request.
func unanswered(ctx context.Context, err error) bool {
	code := abi.CodeOf(err)
	return code == abi.CodeUnreachable || code == abi.CodeShuttingDown || ctx.Err() != nil
}

// resultOf waits for the end of an execution. It is nil if there was no reply. An execution that is paused because it
// was killed with its host again and again is resumed, as an operator would do that knows why the hosts ended.
func resultOf(ctx context.Context, run client.Run[any]) *result {
	value, err := run.Wait(ctx)
	var failed *client.RunError
	for errors.As(err, &failed) && failed.Cause.Code == abi.CodeHostLost {
		if err = run.Resume(ctx); err == nil || abi.CodeOf(err) == abi.CodeNotPaused {
			value, err = run.Wait(ctx)
		}
	}
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

// awaitAcknowledged waits until the host serves clients. The first signal may be from before the last kill, the second
// is not.
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
