package instance

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/host/wasm"
)

// Deps is what [Instances] stand on.
type Deps struct {
	Clock clockwork.Clock
	// CallFuel bounds the computation of a call of a stateless entity, and CallTimeout its
	// duration; a Fuel of 0 is no limit.
	CallFuel    int64
	CallTimeout time.Duration
	Egress      effects.Egress
	// Fuel bounds what operations of an entity with a state may compute together; 0 is no limit.
	Fuel   int64
	Host   *hoststate.State
	Logger *slog.Logger
	// Memory is what instances take theirs from.
	Memory     *budget.Budget
	Registerer prometheus.Registerer
	Slots      *guest.Slots
	Store      effects.Store
}

// Instances runs the code of entities in instances of their modules. An instance is as new, and reset afterwards:
// nothing leaks from one invocation into the next.
type Instances struct {
	Deps
	fuel *prometheus.CounterVec
}

// New makes Instances.
func New(deps Deps) *Instances {
	return &Instances{
		Deps: deps,
		fuel: metric.Counters(
			deps.Registerer, "entity_fuel_total", "Fuel that operations of entities have used, by namespace.",
			"namespace",
		),
	}
}

// Operations runs operations of an entity with a state, one after the other. They compute within the limits of a turn.
func (g *Instances) Operations(ctx context.Context, t target.Target, body *abi.Operations) (*Result, error) {
	code := t.Type.Module.Code
	memory, err := g.Memory.Acquire(ctx, code.MemoryBytes())
	if err != nil {
		return nil, err
	}
	defer memory.Release()
	ran := &Result{}
	err = g.Slots.ComputeEach(ctx, func(ctx context.Context, renew func() bool) error {
		w := &operationsWorld{target: t, ran: ran, under: UnderWay{Count: len(body.Operations), Renew: renew}}
		world := w.world()
		world.Clock, world.Fuel, world.Memory = g.Clock.Now, g.Fuel, memory
		inst, err := code.Instantiate(ctx, world)
		if err != nil {
			return notRun(err)
		}
		defer func() { _ = inst.Close() }()
		turn, err := inst.Start(ctx, abi.MustMarshal(&abi.Invocation{
			Kind: abi.InvokeOperations, Name: t.Type.Name, Body: abi.MustMarshal(body),
			Execution: t.Ref.String(), Namespace: t.Namespace, Time: g.Clock.Now().UnixNano(),
		}))
		g.fuel.WithLabelValues(t.Namespace).Add(float64(inst.FuelUsed()))
		if err != nil {
			return w.under.EndedBy(err)
		}
		return decodeOperations(turn, ran)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err() // the host has ended: it stopped the guest, which did nothing wrong
	}
	return ran, err
}

// notRun is the error of an instance that could not be made. No operation is to blame for it,
// whatever went wrong.
func notRun(err error) error {
	if IsOfGuest(err) {
		return &Refusal{abi.AsError(err)}
	}
	return err
}

// decodeOperations decodes the results of an invocation.
func decodeOperations(turn wasm.Turn, ran *Result) error {
	if turn.Parked {
		return abi.Errorf(abi.CodeGuestProtocol, "an operation parked instead of finishing")
	}
	outcome, err := abi.DecodeResult(turn.Output)
	if err != nil {
		return err
	}
	if outcome.Error != nil {
		return &Refusal{outcome.Error}
	}
	if err := abi.DecodeBody(outcome.Value, &ran.OperationsReply); err != nil {
		return abi.Errorf(abi.CodeGuestProtocol, "the replies of operations do not decode: %v", err)
	}
	return nil
}

// Bounds of the log of an invocation.
const (
	maxLog      = 256 << 10
	logLineCost = 16 // bytes that a line costs besides its text
)

// operationsWorld is what operations of an entity with a state can observe: a clock, random numbers and configuration.
// They wait for nothing, so that a batch takes as long as it computes.
type operationsWorld struct {
	target target.Target
	ran    *Result
	logged int
	under  UnderWay
}

func (w *operationsWorld) world() wasm.World {
	return wasm.World{
		Random: rand.Reader,
		Log:    w.keepLog,
		Stdout: func(line []byte) { w.keepLog(abi.LogInfo, line) },
		Stderr: func(line []byte) { w.keepLog(abi.LogWarn, line) },
		Op:     refuseOp,
		Call:   w.call,

		Operation: w.under.Begin,
	}
}

func (w *operationsWorld) keepLog(level int32, message []byte) {
	if w.logged += len(message) + logLineCost; w.logged <= maxLog {
		w.ran.Log = append(w.ran.Log, guest.LogLine{Level: level, Message: string(message)})
	}
}

// call serves the one immediate call that operations have.
func (w *operationsWorld) call(_ context.Context, name string, body []byte) ([]byte, *abi.Error) {
	if name != abi.ImportConfig {
		return nil, abi.Errorf(
			abi.CodeWrongContext, "%s is not available in an operation of an entity with a state", name,
		).
			WithHint("Start a workflow with an activity that does it, or use an entity without a state.")
	}
	req, err := abi.DecodeAs[abi.ConfigRequest](body)
	if err != nil {
		return nil, err
	}
	value, found := w.target.Type.Deployment.Config[req.Name]
	return abi.MustMarshal(&abi.ConfigReply{Found: found, Value: value}), nil
}

func refuseOp(kind string, _ []byte) (uint32, *abi.Error) {
	return 0, abi.Errorf(abi.CodeWrongContext, "%s is not available in an entity: it would have to wait", kind).
		WithHint("Send a message to another entity, or start a workflow that does it.")
}
