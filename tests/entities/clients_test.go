package entities

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

type object = map[string]any

// never is when an operation returns whose outcome is not known.
const never = math.MaxInt64

// once is a tally that is only added to, one at a time: its sum counts requests.
const once = "once"

// request is an operation that a client asks for, under an id of its own.
type request struct {
	input
	id     string
	client int
}

// history holds the requests of all clients and the replies.
type history struct {
	clock atomic.Int64
	news  chan struct{} // receives after an answer

	mu         sync.Mutex
	operations []porcupine.Operation // guarded by mu
	counted    []request             // guarded by mu; those of once
	wrong      []error               // guarded by mu; answers that no client may get
}

// caller is a client, which repeats unanswered requests or gives up.
type caller struct {
	*history
	number         int
	random         *rand.Rand
	patient, hasty *client.Client
}

// dial connects to a host, for as long as the test takes.
func dial(t *testing.T, p *harness.Process, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Dial(p.GRPC, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() }) // the host may be dead
	return c
}

// one makes one request. All that is drawn is drawn at once, so that later requests do not depend on answers.
func (c *caller) one(n int) {
	r := c.draw(n)
	gives, repeats := c.random.IntN(5) == 0, c.random.IntN(4) == 0
	through := c.patient
	if gives {
		through = c.hasty
	}
	called := c.clock.Add(1)
	out, err := r.make(through)
	returned := c.clock.Add(1)
	switch {
	case gives && err != nil && lost(err):
		out, returned = output{}, never
	case err != nil:
		c.fail(fmt.Errorf("%+v: %w", r, err))
		return
	}
	c.record(r, porcupine.Operation{ClientId: c.number, Input: r.input, Output: out, Call: called, Return: returned})
	if repeats && out.known {
		c.repeat(r, out)
	}
}

// draw draws a request.
func (c *caller) draw(n int) request {
	r := request{id: fmt.Sprintf("%d-%d", c.number, n), client: c.number}
	kind, tally, sum := c.random.IntN(10), c.random.IntN(tallies), c.random.Int64N(1000)
	r.tally, r.name, r.n = fmt.Sprint("tally-", tally), "add", 1000*int64(n)+sum
	switch kind {
	case 0, 1:
		r.tally, r.n = once, 1
	case 2:
		r.tally, r.name, r.n = once, "send", 1
	case 3:
		r.name = "send"
	case 4, 5:
		r.name, r.n = "read", 0
	case 6:
		r.name, r.n = "drop", 0
	case 7:
		r.n = -r.n // most of them are refused
	}
	return r
}

// make makes a request.
func (r request) make(c *client.Client) (out output, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	switch r.name {
	case "send":
		return output{}, client.Operation[int64, int64](c, tallyType, "add").On(r.tally).WithRequestID(r.id).Send(
			ctx, r.n,
		)
	case "add":
		out.n, err = client.Operation[int64, int64](c, tallyType, "add").On(r.tally).WithRequestID(r.id).Call(ctx, r.n)
	case "drop":
		out.n, err = client.Operation[object, int64](c, tallyType, "drop").On(r.tally).WithRequestID(r.id).Call(
			ctx, object{},
		)
	default:
		var state struct {
			N int64 `json:"n"`
		}
		state, err = client.Operation[object, struct {
			N int64 `json:"n"`
		}](c, tallyType, "read").On(r.tally).WithRequestID(r.id).Call(ctx, object{})
		out.n = state.N
	}
	if abi.CodeOf(err) == abi.CodeOperationFailed {
		out.refused, err = true, nil
	}
	out.known = err == nil
	return out, err
}

// lost tells whether the host said nothing.
func lost(err error) bool {
	code := abi.CodeOf(err)
	return code == abi.CodeUnreachable || code == abi.CodeShuttingDown
}

// repeat makes a request again that was answered: the answer is the same. A read may see more.
func (c *caller) repeat(r request, told output) {
	if r.name == "read" {
		return
	}
	again, err := r.make(c.patient)
	if err == nil && again != told {
		err = fmt.Errorf("answered %+v, and then %+v", told, again)
	}
	if err != nil {
		c.fail(fmt.Errorf("%+v, repeated: %w", r, err))
	}
}

func (h *history) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrong = append(h.wrong, err)
}

func (h *history) record(r request, o porcupine.Operation) {
	h.mu.Lock()
	h.operations = append(h.operations, o)
	if r.tally == once {
		h.counted = append(h.counted, r)
	}
	h.mu.Unlock()
	if o.Return != never {
		select {
		case h.news <- struct{}{}:
		default:
		}
	}
}
