package instance

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/host/timelimit"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/host/wasm"
)

// Call runs an operation of an entity without a state. The code sees the real world, through host/effects.
func (g *Instances) Call(ctx context.Context, t target.Target, call StatelessCall) (*StatelessResult, error) {
	code := t.Type.Module.Code
	memory, err := g.Memory.Acquire(ctx, code.MemoryBytes())
	if err != nil {
		return nil, err
	}
	defer memory.Release()
	log := &callLog{log: g.Logger.With("entity", t.Ref.String(), "operation", call.Operation)}
	fx := &effects.Effects{
		Deps:       effects.Deps{Clock: g.Clock, Egress: g.Egress, Host: g.Host, Store: g.Store},
		Deployment: func(context.Context) (*catalog.Deployment, error) { return t.Type.Deployment, nil },
		Log:        func() *slog.Logger { return log.log }, Namespace: t.Namespace,
	}
	defer fx.Rollback()
	world := g.callWorld(fx, log)
	world.Memory = memory
	inst, err := code.Instantiate(ctx, world)
	if err != nil {
		return nil, notRun(err)
	}
	defer func() { _ = inst.Close() }()
	limited, cancel := timelimit.WithTimeout(ctx, g.Clock, g.CallTimeout)
	defer cancel()
	now := g.Clock.Now()
	turn, err := inst.Start(limited, abi.MustMarshal(&abi.Invocation{
		Kind:           abi.InvokeCall,
		Name:           t.Type.Name,
		Body:           abi.MustMarshal(&abi.EntityCall{Operation: call.Operation, Input: call.Input}),
		Attempt:        call.Attempt,
		IdempotencyKey: call.IdempotencyKey,
		Execution:      t.Ref.String(),
		Namespace:      t.Namespace,
		Time:           now.UnixNano(),
		Deadline:       abi.DeadlineOf(now, g.CallTimeout).UnixNano(),
	}))
	g.fuel.WithLabelValues(t.Namespace).Add(float64(inst.FuelUsed()))
	return g.ranStateless(ctx, fx, turn, err)
}

// ranStateless returns the result of a call. A failure that is not the code's comes first: the
// code's reaction to it does not matter.
func (g *Instances) ranStateless(
	ctx context.Context, fx *effects.Effects, turn wasm.Turn, err error,
) (*StatelessResult, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case fx.Infra != nil:
		return nil, fx.Infra
	case err != nil:
		return nil, err
	case turn.Parked:
		return nil, abi.Errorf(abi.CodeGuestProtocol, "a call of an entity parked instead of finishing")
	}
	outcome, oerr := abi.DecodeResult(turn.Output)
	if oerr != nil {
		return nil, oerr
	}
	return &StatelessResult{Outcome: *outcome, Tx: fx.TakeTx()}, nil
}

func (g *Instances) callWorld(fx *effects.Effects, log *callLog) wasm.World {
	return wasm.World{
		Fuel:   g.CallFuel,
		Clock:  g.Clock.Now,
		Random: rand.Reader,
		Sleep: func(ctx context.Context, d time.Duration) error {
			timer.Wait(ctx, g.Clock, d)
			return ctx.Err()
		},
		Log:    log.write,
		Stdout: func(line []byte) { log.write(abi.LogInfo, line) },
		Stderr: func(line []byte) { log.write(abi.LogWarn, line) },
		Op:     refuseOp,
		Call:   fx.Call,
	}
}

// callLog writes the log of a call, up to a bound.
type callLog struct {
	log    *slog.Logger
	logged int
}

func (l *callLog) write(level int32, message []byte) {
	if l.logged += len(message) + logLineCost; l.logged <= maxLog {
		guestlog.Write(l.log, level, message)
	}
}
