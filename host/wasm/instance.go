package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
)

// phase says what an instance is doing; it decides which imports are open.
type phase int

const (
	// phaseInit is everything before the first turn: the start function,
	// _initialize and cruster_abi. Of the imports only log is open.
	phaseInit phase = iota
	// phaseReady waits for Start (or describe).
	phaseReady
	// phaseTurn is inside cruster_start, cruster_resume or cruster_describe.
	phaseTurn
	// phaseParked waits for Resume.
	phaseParked
	// phaseDone has returned its output: no turn follows.
	phaseDone
	// phaseDead has trapped or was closed.
	phaseDead
)

// Instance is one running copy of a module. Its methods may be called from any
// goroutine; turns exclude each other.
type Instance struct {
	module *Module
	world  World

	// memory mirrors the size of the linear memory, as of the end of the last
	// turn, so that it can be read during one.
	memory atomic.Int64

	// mu is held throughout a turn and guards all that follows.
	mu     sync.Mutex
	phase  phase
	cause  error // why the instance is dead
	mod    api.Module
	linear *linearMemory // nil until the module is instantiated
	start  api.Function
	resume api.Function
	stdout lineWriter
	stderr lineWriter
	crash  crashLog
	closed bool

	// State of the turn under way.
	turn       context.Context
	pending    []byte // what input yields
	hasPending bool
	output     []byte
	hasOutput  bool
	naps       int // sleeps that were passed over
}

// Turn is how a turn ended: parked, or over with an output.
type Turn struct {
	Parked bool
	Output []byte
}

// errClosed is why a closed instance is dead.
var errClosed = errors.New("the instance is closed")

// Instantiate makes a fresh instance that sees the given world: its memory is
// laid out, _initialize has run and the ABI version is right. A module that fails
// at that is a *Trap with CodeModuleInit or CodeABIVersion.
func (m *Module) Instantiate(ctx context.Context, world World) (*Instance, error) {
	if err := m.runtime.enter(); err != nil {
		return nil, err
	}
	defer m.runtime.leave()
	if err := m.acquire(); err != nil {
		return nil, err
	}
	i := &Instance{module: m, world: world}
	i.stdout.stop, i.stderr.stop = i.stopped, i.stopped
	i.stdout.emit = func(line []byte) {
		if i.world.Stdout != nil {
			guard(func() { i.world.Stdout(line) })
		}
	}
	i.stderr.emit = func(line []byte) {
		i.crash.add(line)
		if i.world.Stderr != nil {
			guard(func() { i.world.Stderr(line) })
		}
	}
	if err := i.initialize(ctx); err != nil {
		_ = i.Close()
		return nil, err
	}
	return i, nil
}

// initialize does all that comes before the first turn, within InitTimeout.
func (i *Instance) initialize(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, i.module.runtime.cfg.InitTimeout)
	defer cancel()
	ran, release := i.run(bounded)
	defer release()

	if err := i.lay(ran); err != nil {
		return i.initFailed(ctx, ran, "its start function", err)
	}
	if f := i.mod.ExportedFunction(abi.ExportInitialize); f != nil {
		if _, err := f.Call(ran); err != nil {
			return i.initFailed(ctx, ran, abi.ExportInitialize, err)
		}
	}
	version, err := i.mod.ExportedFunction(abi.ExportABI).Call(ran)
	if err != nil {
		return i.initFailed(ctx, ran, abi.ExportABI, err)
	}
	if v := int32(uint32(version[0])); v != abi.Version {
		return i.die(&Trap{Err: abi.Errorf(abi.CodeABIVersion, "the module speaks version %d of the ABI, and this host speaks version %d", v, abi.Version)})
	}
	if ran.Err() != nil {
		return i.initFailed(ctx, ran, abi.ExportABI, ran.Err())
	}
	i.flush()
	i.phase = phaseReady
	return nil
}

// lay instantiates the module: memory, tables, globals, and the start function
// if the module has one.
func (i *Instance) lay(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &hostPanic{fmt.Errorf("the engine panicked: %v", p)}
		}
	}()
	i.mod, err = i.module.runtime.engine.InstantiateModule(i.withMemory(ctx), i.module.compiled, i.systemConfig())
	return err
}

// initFailed explains a failure before the first turn. It is the module's fault
// unless the caller, whose context is ctx, stopped waiting.
func (i *Instance) initFailed(ctx, ran context.Context, where string, err error) error {
	failure := i.explain(ran, where, err)
	var trap *Trap
	if !errors.As(failure, &trap) || ctx.Err() != nil {
		return i.die(failure)
	}
	message := trap.Err.Message
	if trap.Err.Code == abi.CodeGuestTimeout {
		message = fmt.Sprintf("it did not return within %v", i.module.runtime.cfg.InitTimeout)
	}
	trap.Err = abi.Errorf(abi.CodeModuleInit, "the module failed in %s: %s", where, message)
	return i.die(trap)
}

// Describe runs cruster_describe in an instance of its own and returns the bytes
// of the manifest, which may be anything of at most abi.MaxBody bytes.
func (m *Module) Describe(ctx context.Context) ([]byte, error) {
	i, err := m.Instantiate(ctx, World{})
	if err != nil {
		return nil, err
	}
	defer i.Close()
	return i.describe(ctx)
}

func (i *Instance) describe(ctx context.Context) ([]byte, error) {
	if err := i.module.runtime.enter(); err != nil {
		return nil, err
	}
	defer i.module.runtime.leave()
	i.mu.Lock()
	defer i.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, i.module.runtime.cfg.InitTimeout)
	defer cancel()
	ran, release := i.run(bounded)
	defer release()

	i.phase = phaseTurn
	if _, err := i.mod.ExportedFunction(abi.ExportDescribe).Call(ran); err != nil {
		return nil, i.initFailed(ctx, ran, abi.ExportDescribe, err)
	}
	if !i.hasOutput {
		return nil, i.die(&Trap{Err: abi.Errorf(abi.CodeBadManifest, "the module returned from %s without a manifest", abi.ExportDescribe)})
	}
	return i.output, nil
}

// Start begins the invocation that input encodes.
func (i *Instance) Start(ctx context.Context, input []byte) (Turn, error) {
	return i.call(ctx, abi.ExportStart, phaseReady, input)
}

// Resume continues a parked invocation with the deliveries that input encodes.
func (i *Instance) Resume(ctx context.Context, input []byte) (Turn, error) {
	return i.call(ctx, abi.ExportResume, phaseParked, input)
}

func (i *Instance) call(ctx context.Context, export string, from phase, input []byte) (Turn, error) {
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
		return Turn{}, abi.Errorf(abi.CodePayloadTooLarge, "the input of %s has %d bytes, and %d are allowed", export, len(input), abi.MaxBody)
	case ctx.Err() != nil:
		// The engine would close the instance, which is innocent.
		return Turn{}, fmt.Errorf("%s: %w", export, ctx.Err())
	}
	ran, release := i.run(ctx)
	defer release()

	i.phase = phaseTurn
	i.pending, i.hasPending = input, true
	i.output, i.hasOutput = nil, false
	i.crash.report = i.crash.report[:0]
	stack := [1]uint64{uint64(len(input))}
	if err := i.function(export).CallWithStack(ran, stack[:]); err != nil {
		return Turn{}, i.die(i.explain(ran, export, err))
	}
	i.flush()
	return i.finish(ran, export, int32(uint32(stack[0])))
}

// finish judges what a turn returned.
func (i *Instance) finish(ran context.Context, export string, status int32) (Turn, error) {
	i.pending, i.hasPending = nil, false
	output := i.output
	i.output = nil
	broken := func(format string, args ...any) (Turn, error) {
		return Turn{}, i.die(i.newTrap(abi.Errorf(abi.CodeGuestProtocol, format, args...), ""))
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
	case ran.Err() != nil:
		// The engine watches the context on a goroutine of its own and may be
		// about to close the instance, so it cannot be used again.
		return Turn{}, i.die(i.explain(ran, export, ran.Err()))
	}
	i.phase = phaseParked
	return Turn{Parked: true}, nil
}

// run prepares a call of the guest: the context carries the instance and ends
// with ctx and with the runtime.
func (i *Instance) run(ctx context.Context) (context.Context, context.CancelFunc) {
	ran, cancel := i.module.runtime.bind(ctx)
	ran = context.WithValue(ran, instanceKey{}, i)
	i.turn, i.naps = ran, 0
	return ran, func() {
		i.turn = nil
		i.memory.Store(i.memorySize())
		cancel()
	}
}

// stopped tells why the turn is to end, if it is.
func (i *Instance) stopped() error {
	if i.turn == nil {
		return nil
	}
	return i.turn.Err()
}

// function finds an export; the engine allots a stack to each handle, so they
// are kept.
func (i *Instance) function(export string) api.Function {
	handle := &i.start
	if export == abi.ExportResume {
		handle = &i.resume
	}
	if *handle == nil {
		*handle = i.mod.ExportedFunction(export)
	}
	return *handle
}

// die makes err the reason for which every later call fails, and gives the
// memory back. No call of the engine is under way.
func (i *Instance) die(err error) error {
	i.phase, i.cause = phaseDead, err
	i.pending, i.output = nil, nil
	if i.mod != nil {
		if err := i.mod.Close(context.Background()); err != nil {
			i.module.runtime.cfg.Logger.Warn("close an instance", "module", i.module.digest, "error", err)
		}
	}
	i.mod, i.start, i.resume = nil, nil, nil
	if i.linear != nil {
		if err := i.linear.release(); err != nil {
			i.module.runtime.cfg.Logger.Warn("release the memory of an instance", "module", i.module.digest, "error", err)
		}
		i.linear = nil
	}
	return err
}

// flush hands on what the guest wrote without ending the line.
func (i *Instance) flush() {
	i.stdout.flush()
	i.stderr.flush()
}

// MemoryBytes is the size of the instance's linear memory after its last turn;
// zero once it is dead or closed. Memory never shrinks.
func (i *Instance) MemoryBytes() int64 { return i.memory.Load() }

// Close releases the instance. A turn under way is waited for: end its context
// to hurry it. Close may be called twice, and after a trap.
func (i *Instance) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	if i.phase != phaseDead {
		_ = i.die(errClosed)
	}
	i.memory.Store(0)
	i.module.release()
	return nil
}
