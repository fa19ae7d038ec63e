package guest

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// KeyDeriver derives the idempotency keys of starts.
type KeyDeriver struct {
	clock    clockwork.Clock
	memory   *budget.Budget
	slots    *Slots
	duration prometheus.Histogram
}

// NewKeyDeriver makes a deriver whose key functions compute in the given slots, with
// memory of the given budget.
func NewKeyDeriver(clock clockwork.Clock, memory *budget.Budget, slots *Slots, reg prometheus.Registerer) *KeyDeriver {
	return &KeyDeriver{clock: clock, memory: memory, slots: slots, duration: metric.Seconds(reg, "key_function_seconds", "Time of a key function.")}
}

// Derive decides the key of a start. Given and mode are what the client said.
//
//	given by the client, hashed   hex SHA-256 of its msgpack form
//	given by the client, raw      as it is
//	none, no key function         hex SHA-256 of the canonical request
//	none, hashed key function     hex SHA-256 of what the function returns
//	none, raw key function        what the function returns, a string
func (d *KeyDeriver) Derive(ctx context.Context, code *wasm.Module, w *abi.WorkflowInfo, input []byte, given, mode string) (string, error) {
	switch mode {
	case abi.KeyHashed:
		if err := abi.CheckKey(given); err != nil {
			return "", err
		}
		return abi.HashString(given), nil
	case abi.KeyRaw:
		return given, abi.CheckKey(given)
	case abi.KeyDerived:
	default:
		return "", abi.Errorf(abi.CodeBadKey, "%.40q is not a way to give a key", mode)
	}
	if w.Key == abi.KeyFromRequest {
		return abi.Hash(input)
	}
	return d.fromFunction(ctx, code, w, input)
}

// fromFunction asks the module for the key of a request.
func (d *KeyDeriver) fromFunction(ctx context.Context, code *wasm.Module, w *abi.WorkflowInfo, input []byte) (string, error) {
	outcome, err := d.invoke(ctx, code, w.Name, input)
	if err != nil {
		return "", keyFailure(ctx, w.Name, err)
	}
	if outcome.Error != nil {
		if outcome.Error.Code == abi.CodeBadInput {
			return "", outcome.Error
		}
		return "", abi.Errorf(abi.CodeKeyFunction, "the key function of %q failed: %s", w.Name, outcome.Error.Message)
	}
	if w.Key == abi.KeyFromFunctionHashed {
		return abi.Hash(outcome.Value)
	}
	var key string
	if err := abi.Unmarshal(outcome.Value, &key); err != nil {
		return "", abi.Errorf(abi.CodeKeyFunction, "the raw key function of %q did not return a string", w.Name)
	}
	return key, abi.CheckKey(key)
}

// keyFailure tells failures of the host, after which another try may succeed, from
// those of the key function.
func keyFailure(ctx context.Context, workflow string, err error) error {
	switch code := abi.CodeOf(err); {
	case ctx.Err() != nil:
		return journal.Coded("derive the key", ctx.Err())
	case code == "" || strings.HasPrefix(string(code), "CR-5"):
		return abi.AsError(err)
	default:
		return abi.Errorf(abi.CodeKeyFunction, "the key function of %q failed: %v", workflow, err)
	}
}

func (d *KeyDeriver) invoke(ctx context.Context, code *wasm.Module, workflow string, input []byte) (outcome *abi.Outcome, err error) {
	memory, err := d.memory.Acquire(ctx, code.MemoryBytes())
	if err != nil {
		return nil, err
	}
	defer memory.Release()
	err = d.slots.Compute(ctx, func(ctx context.Context) error {
		start := d.clock.Now()
		world := keyWorld()
		world.Grow = memory.Grow
		inst, err := code.Instantiate(ctx, world)
		if err != nil {
			return err
		}
		defer func() { _ = inst.Close() }()
		t, err := inst.Start(ctx, abi.MustMarshal(&abi.Invocation{Kind: abi.InvokeKey, Name: workflow, Body: input}))
		if err != nil {
			return err
		}
		if t.Parked {
			return abi.Errorf(abi.CodeGuestProtocol, "the key function of %q parked", workflow)
		}
		d.duration.Observe(d.clock.Since(start).Seconds())
		decoded, oerr := abi.DecodeOutcome(t.Output)
		if oerr != nil {
			return oerr
		}
		outcome = decoded
		return nil
	})
	return outcome, err
}

// keyWorld is the same for every key function: the key must depend on the request
// alone.
func keyWorld() wasm.World {
	return wasm.World{
		Clock:  func() time.Time { return time.Unix(0, 0) },
		Random: rand.NewChaCha8([32]byte{}),
		Op: func(kind string, _ []byte) (uint32, *abi.Error) {
			return 0, abi.Errorf(abi.CodeWrongContext, "%s is not available in a key function", kind)
		},
		Call: func(_ context.Context, name string, _ []byte) ([]byte, *abi.Error) {
			return nil, abi.Errorf(abi.CodeWrongContext, "%s is not available in a key function", name)
		},
	}
}
