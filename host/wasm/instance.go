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

	// mu is held throughout a turn, also while the engine calls the host
	// functions, and guards all that follows.
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
	turnCtx    context.Context // nil between turns
	pending    []byte          // what input yields
	hasPending bool
	output     []byte
	hasOutput  bool
	naps       int // sleeps that were passed over
}

// errClosed is why a closed instance is dead.
var errClosed = errors.New("the instance is closed")

// Instantiate makes a fresh instance that sees the given world: its memory is
// filled, _initialize has run and the ABI version is right. A module that fails
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
	bounded, cancel := i.module.runtime.boundInit(ctx)
	defer cancel()
	ran, release := i.enterGuestLocked(bounded)
	defer release()

	if err := i.instantiateLocked(ran); err != nil {
		return i.initFailedLocked(ctx, ran, "its start function", err)
	}
	if f := i.mod.ExportedFunction(abi.ExportInitialize); f != nil {
		if _, err := f.Call(ran); err != nil {
			return i.initFailedLocked(ctx, ran, abi.ExportInitialize, err)
		}
	}
	version, err := i.mod.ExportedFunction(abi.ExportABI).Call(ran)
	if err != nil {
		return i.initFailedLocked(ctx, ran, abi.ExportABI, err)
	}
	if v := int32(uint32(version[0])); v != abi.Version {
		return i.dieLocked(&Trap{Err: abi.Errorf(abi.CodeABIVersion, "the module speaks version %d of the ABI, and this host speaks version %d", v, abi.Version)})
	}
	if ran.Err() != nil {
		return i.initFailedLocked(ctx, ran, abi.ExportABI, ran.Err())
	}
	i.flushLocked()
	i.phase = phaseReady
	return nil
}

// instantiateLocked makes memory, tables and globals, and runs the start
// function if the module has one.
func (i *Instance) instantiateLocked(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &hostPanic{fmt.Errorf("the engine panicked: %v", p)}
		}
	}()
	i.mod, err = i.module.runtime.engine.InstantiateModule(i.withMemory(ctx), i.module.compiled, i.systemConfig())
	return err
}

// initFailedLocked explains a failure before the first turn. It is the module's
// fault unless the caller, whose context is ctx, stopped waiting.
func (i *Instance) initFailedLocked(ctx, ran context.Context, where string, err error) error {
	failure := i.explainLocked(ran, where, err)
	var trap *Trap
	if !errors.As(failure, &trap) || ctx.Err() != nil {
		return i.dieLocked(failure)
	}
	message := trap.Err.Message
	if trap.Err.Code == abi.CodeGuestTimeout {
		message = fmt.Sprintf("it did not return within %v", i.module.runtime.cfg.InitTimeout)
	}
	trap.Err = abi.Errorf(abi.CodeModuleInit, "the module failed in %s: %s", where, message)
	return i.dieLocked(trap)
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
	bounded, cancel := i.module.runtime.boundInit(ctx)
	defer cancel()
	ran, release := i.enterGuestLocked(bounded)
	defer release()

	i.phase = phaseTurn
	if _, err := i.mod.ExportedFunction(abi.ExportDescribe).Call(ran); err != nil {
		return nil, i.initFailedLocked(ctx, ran, abi.ExportDescribe, err)
	}
	if !i.hasOutput {
		return nil, i.dieLocked(&Trap{Err: abi.Errorf(abi.CodeBadManifest, "the module returned from %s without a manifest", abi.ExportDescribe)})
	}
	return i.output, nil
}

// functionLocked finds an export. The engine allots a stack to each handle, so
// they are kept.
func (i *Instance) functionLocked(export string) api.Function {
	handle := &i.start
	if export == abi.ExportResume {
		handle = &i.resume
	}
	if *handle == nil {
		*handle = i.mod.ExportedFunction(export)
	}
	return *handle
}

// dieLocked makes err the reason for which every later call fails, and gives the
// memory back. No call of the engine is under way.
func (i *Instance) dieLocked(err error) error {
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

// flushLocked hands on what the guest wrote without ending the line.
func (i *Instance) flushLocked() {
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
		_ = i.dieLocked(errClosed)
	}
	i.memory.Store(0)
	i.module.release()
	return nil
}
