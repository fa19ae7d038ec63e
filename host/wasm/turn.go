package wasm

import (
	"context"
	"fmt"

	"github.com/cruster/cruster/abi"
)

// Turn is how one call into the guest ended: parked, or done with an output.
type Turn struct {
	Parked bool
	Output []byte
}

// Start begins the invocation that input encodes.
func (i *Instance) Start(ctx context.Context, input []byte) (Turn, error) {
	return i.runTurn(ctx, abi.ExportStart, phaseReady, input)
}

// Resume continues a parked invocation with the deliveries that input encodes.
func (i *Instance) Resume(ctx context.Context, input []byte) (Turn, error) {
	return i.runTurn(ctx, abi.ExportResume, phaseParked, input)
}

// Query asks a parked invocation the question that input encodes. The instance cannot go on after
// that: its computation of the answer is no part of the invocation.
func (i *Instance) Query(ctx context.Context, input []byte) ([]byte, error) {
	t, err := i.runTurn(ctx, abi.ExportQuery, phaseParked, input)
	if err == nil && t.Parked {
		i.mu.Lock()
		defer i.mu.Unlock()
		err = i.dieLocked(i.newTrapLocked(
			abi.Errorf(abi.CodeGuestProtocol, "the module returned from %s as parked", abi.ExportQuery), "",
		))
	}
	return t.Output, err
}

func (i *Instance) runTurn(ctx context.Context, export string, from phase, input []byte) (Turn, error) {
	if err := i.module.runtime.enter(); err != nil {
		return Turn{}, err
	}
	defer i.module.runtime.leave()
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.phase == phaseDead:
		return Turn{}, fmt.Errorf("%s: the instance is dead: %w", export, i.cause)
	case i.phase != from:
		return Turn{}, fmt.Errorf("%s: the instance is not ready for it", export)
	case len(input) > abi.MaxBody:
		return Turn{}, abi.Errorf(
			abi.CodePayloadTooLarge, "the input of %s has %d bytes, and %d are allowed", export, len(input),
			abi.MaxBody,
		)
	case ctx.Err() != nil:
		// The guest would be stopped, and it did nothing wrong.
		return Turn{}, fmt.Errorf("%s: %w", export, ctx.Err())
	}
	ran, release := i.enterGuestLocked(ctx)
	defer release()

	i.phase = phaseTurn
	i.pending, i.hasPending = input, true
	i.output, i.hasOutput = nil, false
	i.crash.Forget()
	stack := [1]uint64{uint64(len(input))}
	i.startFuel(i.world.Fuel)
	call := i.machine.handles.of(i.mod, export)
	if call == nil {
		return Turn{}, i.dieLocked(abi.Errorf(abi.CodeWorkflowManifestLie, "the module does not export %s", export))
	}
	i.watchTurn()
	err := call.CallWithStack(ran, stack[:])
	i.endWatch()
	i.settleFuel()
	i.machine.handles.dropGrownStacks()
	if err != nil {
		return Turn{}, i.dieLocked(i.explainLocked(ran, inWords(export), err))
	}
	if starved := i.starvedLocked(inWords(export)); starved != nil {
		return Turn{}, i.dieLocked(starved)
	}
	if blocked := i.blockedLocked(); blocked != nil {
		return Turn{}, i.dieLocked(blocked)
	}
	i.flushLocked()
	return i.finishLocked(export, int32(uint32(stack[0])))
}

// inWords describes a call of an export to readers who do not know the ABI.
func inWords(export string) string {
	switch export {
	case abi.ExportStart, abi.ExportResume:
		return "its turn"
	default:
		return export
	}
}

// finishLocked checks a guest's return values from a turn.
func (i *Instance) finishLocked(export string, status int32) (Turn, error) {
	i.pending, i.hasPending = nil, false
	output := i.output
	i.output = nil
	broken := func(format string, args ...any) (Turn, error) {
		return Turn{}, i.dieLocked(i.newTrapLocked(abi.Errorf(abi.CodeGuestProtocol, format, args...), ""))
	}
	switch {
	case status == abi.StatusDone && !i.hasOutput:
		return broken("the module returned from %s as done without an output", export)
	case status == abi.StatusDone:
		i.phase = phaseDone
		return Turn{Output: output}, nil
	case status != abi.StatusParked:
		return broken("the module returned the unknown status %d from %s", status, export)
	case i.hasOutput:
		return broken("the module returned from %s as parked, but with an output", export)
	}
	i.phase = phaseParked
	return Turn{Parked: true}, nil
}

// enterGuestLocked prepares a call into the guest. The context carries the instance and ends with ctx and with the
// runtime.
func (i *Instance) enterGuestLocked(ctx context.Context) (ran context.Context, leave func()) {
	ran = &calling{ctx, i}
	i.turnCtx, i.naps, i.blocked, i.pollFails, i.reportSlices = ran, 0, nil, false, 0
	i.startFuel(0)
	i.computing = computing{}
	return ran, func() {
		i.leaveCore()
		i.turnCtx = nil
		i.memory.Store(i.memorySizeLocked())
	}
}

// endIfStopped ends a guest whose turn has to end, as a host function does. A call of the system that failed instead
// would be seen by the guest, which could go on otherwise than on replay, and return before it is out of fuel.
func (i *Instance) endIfStopped() {
	if i.stopped() != nil {
		panic(errStopped)
	}
}

// stopped tells why the turn has to end, if it has. A guest that writes its report goes on: see block.go.
func (i *Instance) stopped() error {
	if i.turnCtx == nil || i.reportSlices > 0 {
		return nil
	}
	return i.turnCtx.Err()
}
