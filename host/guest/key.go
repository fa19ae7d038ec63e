package guest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// KeyDeps are the dependencies of a [KeyDeriver].
type KeyDeps struct {
	Clock clockwork.Clock
	// Fuel bounds the computation of a key function; 0 is no limit.
	Fuel int64
	// Memory is the budget of instances.
	Memory     *budget.Budget
	Registerer prometheus.Registerer
	Slots      *Slots
}

// KeyDeriver derives the idempotency keys of starts.
type KeyDeriver struct {
	KeyDeps
	duration prometheus.Histogram
	fuel     *prometheus.CounterVec
}

// NewKeyDeriver makes a deriver.
func NewKeyDeriver(deps KeyDeps) *KeyDeriver {
	return &KeyDeriver{
		KeyDeps:  deps,
		duration: metric.Seconds(deps.Registerer, "key_function_seconds", "Time of a key function."),
		fuel: metric.Counters(
			deps.Registerer, "key_function_fuel_total", "Fuel that key functions have used, by namespace.", "namespace",
		),
	}
}

// KeyRequest is a start whose key is to be derived.
type KeyRequest struct {
	Namespace string
	Code      *wasm.Module
	Workflow  *abi.WorkflowInfo
	Input     []byte
	// Given and Mode are the client's choice.
	Given, Mode string
}

// Derive decides the key of a start.
//
//	given by the client, hashed   hex SHA-256 of its msgpack form
//	given by the client, raw      as it is
//	none, no key function         hex SHA-256 of the canonical request
//	none, hashed key function     hex SHA-256 of the function's result
//	none, raw key function        the function's result, a string
func (d *KeyDeriver) Derive(ctx context.Context, r KeyRequest) (string, error) {
	switch r.Mode {
	case abi.KeyHashed:
		if err := abi.CheckKey(r.Given); err != nil {
			return "", err
		}
		return hash.OfString(r.Given), nil
	case abi.KeyRaw:
		return r.Given, abi.CheckKey(r.Given)
	case abi.KeyDerived:
	default:
		return "", abi.Errorf(abi.CodeBadKey, "%.40q is not a way to give a key", r.Mode)
	}
	if r.Workflow.Key == abi.KeyFromRequest {
		return hash.Of(r.Input)
	}
	return d.fromFunction(ctx, r)
}

// fromFunction asks the module for the key of a request.
func (d *KeyDeriver) fromFunction(ctx context.Context, r KeyRequest) (string, error) {
	w := r.Workflow
	outcome, err := d.invoke(ctx, r)
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
		return hash.Of(outcome.Value)
	}
	var key string
	if err := abi.Unmarshal(outcome.Value, &key); err != nil {
		return "", abi.Errorf(abi.CodeKeyFunction, "the raw key function of %q did not return a string", w.Name)
	}
	if key == "" {
		return "", abi.Errorf(abi.CodeBadKey, "the key function of %q returned an empty text", w.Name).
			WithHint("Give the fields of the input that the key is made of, or a key with the start.")
	}
	return key, abi.CheckKey(key)
}

// keyFailure tells failures of the host, after which another try may succeed, from failures of the key function.
func keyFailure(ctx context.Context, workflow string, err error) error {
	switch {
	case ctx.Err() != nil:
		return journal.Coded("derive the key", ctx.Err())
	case abi.IsOfHost(err):
		return journal.Coded("derive the key", err)
	default:
		return abi.Errorf(abi.CodeKeyFunction, "the key function of %q failed: %v", workflow, err)
	}
}

func (d *KeyDeriver) invoke(ctx context.Context, r KeyRequest) (outcome *abi.Outcome, err error) {
	memory, err := d.Memory.Acquire(ctx, r.Code.MemoryBytes())
	if err != nil {
		return nil, err
	}
	defer memory.Release()
	err = d.Slots.Compute(ctx, func(ctx context.Context) error {
		start := d.Clock.Now()
		world := keyWorld()
		world.Fuel, world.Memory = d.Fuel, memory
		inst, err := r.Code.Instantiate(ctx, world)
		if err != nil {
			return err
		}
		defer func() { _ = inst.Close() }()
		t, err := inst.Start(
			ctx, abi.MustMarshal(&abi.Invocation{Kind: abi.InvokeKey, Name: r.Workflow.Name, Body: r.Input}),
		)
		d.fuel.WithLabelValues(r.Namespace).Add(float64(inst.FuelUsed()))
		if err != nil {
			return err
		}
		if t.Parked {
			return abi.Errorf(abi.CodeGuestProtocol, "the key function of %q parked", r.Workflow.Name)
		}
		d.duration.Observe(d.Clock.Since(start).Seconds())
		decoded, oerr := abi.DecodeResult(t.Output)
		if oerr != nil {
			return oerr
		}
		outcome = decoded
		return nil
	})
	return outcome, err
}

// keyWorld is the same for every key function: the key must depend on the request alone.
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
