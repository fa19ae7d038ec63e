package host

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// deriveKey decides the idempotency key of a start.
//
//	given by the client, hashed   hex SHA-256 of its msgpack form
//	given by the client, raw      as it is
//	none, no key function         hex SHA-256 of the canonical request
//	none, hashed key function     hex SHA-256 of what the function returns
//	none, raw key function        what the function returns, a string
func (e *Engine) deriveKey(ctx context.Context, m *module, w *abi.WorkflowInfo, input []byte, given, mode string) (string, error) {
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
		return "", abi.Errorf(abi.CodeBadKey, "%.40q is no way to take a key", mode)
	}
	if w.Key == abi.KeyFromRequest {
		return abi.Hash(input)
	}
	outcome, err := e.invokeKey(ctx, m, w.Name, input)
	if err != nil {
		return "", abi.Errorf(abi.CodeKeyFunction, "the key function of %q failed: %v", w.Name, err)
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

// invokeKey asks the guest for the idempotency key of a request.
func (e *Engine) invokeKey(ctx context.Context, m *module, workflow string, input []byte) (*abi.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.TurnTimeout)
	defer cancel()
	if err := e.turns.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer e.turns.Release(1)
	start := e.now()
	inst, err := m.code.Instantiate(ctx, wasm.World{
		Clock:  func() time.Time { return time.Unix(0, 0) },
		Random: rand.NewChaCha8([32]byte{}),
		Op: func(kind string, _ []byte) (uint32, *abi.Error) {
			return 0, abi.Errorf(abi.CodeWrongContext, "%s is not available in a key function", kind)
		},
		Call: func(_ context.Context, name string, _ []byte) ([]byte, *abi.Error) {
			return nil, abi.Errorf(abi.CodeWrongContext, "%s is not available in a key function", name)
		},
	})
	if err != nil {
		return nil, err
	}
	defer inst.Close()
	t, err := inst.Start(ctx, abi.MustMarshal(&abi.Invocation{Kind: abi.InvokeKey, Name: workflow, Body: input}))
	if err != nil {
		return nil, err
	}
	if t.Parked {
		return nil, abi.Errorf(abi.CodeGuestProtocol, "the key function of %q parked", workflow)
	}
	e.metrics.keyDuration.Observe(e.now().Sub(start).Seconds())
	outcome, oerr := decodeOutcome(t.Output)
	if oerr != nil {
		return nil, oerr
	}
	return outcome, nil
}
