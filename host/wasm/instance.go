package wasm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary"
	"github.com/cruster/cruster/host/wasm/symbolize"
)

// phase is the current work of an instance; it decides which imports are open.
type phase int

const (
	// phaseInit is everything before the first turn: the start function, _initialize and cruster_abi. Of the imports
	// only log is open.
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

// Instance is one running copy of a module. Its methods may be called from any goroutine; turns exclude each other.
type Instance struct {
	module *Module
	world  World

	// memory mirrors the size of the linear memory, as of the end of the last turn, so that it can be read during one.
	memory atomic.Int64

	// fuelUsed is the fuel used by the turns so far.
	fuelUsed atomic.Int64

	// mu is held throughout a turn, also while the engine calls the host functions, and guards all that follows.
	mu      sync.Mutex
	phase   phase
	cause   error         // why the instance is dead
	machine *machine      // the machine that it runs in
	mod     api.Module    // the machine's; nil if it is dead
	linear  *linearMemory // the machine's; nil if it is dead
	stdout  lineWriter
	stderr  lineWriter
	crash   symbolize.CrashLog
	closed  bool

	// WASI's view of the world.
	clock     func() time.Time
	random    io.Reader
	origin    int64     // of the monotonic clock, if hasOrigin; else base decides
	hasOrigin bool      //
	base      time.Time // the first reading of clock by the monotonic one
	wallReads int       // readings of the wall clock
	drawn     int       // bytes that were taken of random

	// State of the turn under way.
	turnCtx      context.Context // nil between turns
	pending      []byte          // returned by input
	hasPending   bool
	output       []byte
	hasOutput    bool
	naps         int   // sleeps that were passed over
	blocked      *Trap // that it would have blocked in this turn; nil if it would not
	pollFails    bool  // that the poll_oneoff under way fails
	reportSlices int   // of fuel that are left for the report of a guest that has blocked until its deadline

	// Fuel of the call under way: the total granted to the guest since it began, and its limit.
	fuelGranted, fuelLimit int64
	fuelSlice              int64        // the next grant
	fuelFilled             time.Time    // when it was given the last
	stoppedAt              binary.Place // where it was refused fuel

	computing computing // of the call under way: see cores.go

	watch faultWatch // of the turn under way: see pages.go

	stackAdmitted int64 // bytes of grown stacks that the host has memory for: see handles.go
	needed        int64 // bytes that it would have to have, if the host never has that many: see admit.go
}

// errClosed is why a closed instance is dead.
var errClosed = errors.New("the instance is closed")

// Instantiate makes an instance that sees the given world: its module has initialised itself and the ABI version is
// right. A module that fails at that is a *Trap with CodeModuleInit or CodeABIVersion.
//
// A module that can have an image initialises itself when its first instance is wanted, and not again: further
// instances begin with the image (see image.go), in memory that is mapped, or in a machine that was used before and is
// reset. If the world says OwnInit, or the module can have no image, the instance initialises itself in its world.
func (m *Module) Instantiate(ctx context.Context, world World) (*Instance, error) {
	if err := m.runtime.enter(); err != nil {
		return nil, err
	}
	defer m.runtime.leave()
	img, err := m.imageFor(ctx, world)
	switch {
	case err != nil:
		return nil, err
	case img == nil:
		return m.instantiatePlain(ctx, world)
	case m.runtime.cfg.DisableImages:
		return m.instantiateLikeImage(ctx, world, img)
	default:
		return m.instantiateImage(ctx, world, img, func(i *Instance) error { return i.begin(world, img) })
	}
}

// imageFor returns the image that an instance in a world begins with; nil if there is none.
func (m *Module) imageFor(ctx context.Context, world World) (*image, error) {
	if m.template == nil || world.OwnInit {
		return nil, nil
	}
	if err := m.acquire(); err != nil {
		return nil, err
	}
	defer m.release()
	return m.image(ctx, m.memoryLimit(world))
}

// instantiatePlain makes an instance that initialises itself in its world.
func (m *Module) instantiatePlain(ctx context.Context, world World) (*Instance, error) {
	if err := m.acquire(); err != nil {
		return nil, err
	}
	i := newInstance(m, world)
	if err := i.initialize(ctx); err != nil {
		_ = i.Close()
		return nil, err
	}
	return i, nil
}

// instantiateLikeImage makes an instance that initialises itself as the image did.
func (m *Module) instantiateLikeImage(ctx context.Context, world World, img *image) (*Instance, error) {
	i, err := m.initializeNeutral(ctx, world, 0)
	if err != nil {
		return nil, err
	}
	if err := i.begin(world, img); err != nil {
		_ = i.Close()
		return nil, err
	}
	return i, nil
}

// instantiateImage makes an instance out of the image, and lets it enter its world.
func (m *Module) instantiateImage(
	ctx context.Context, world World, img *image, enter func(*Instance) error,
) (*Instance, error) {
	if err := m.acquire(); err != nil {
		return nil, err
	}
	i := newInstance(m, world)
	err := i.inhabit(ctx, img)
	if err == nil {
		err = enter(i)
	}
	if err != nil {
		_ = i.Close()
		return nil, err
	}
	return i, nil
}

// newInstance makes an instance that has no machine yet.
func newInstance(m *Module, world World) *Instance {
	i := &Instance{module: m}
	i.stdout.check, i.stderr.check = i.endIfStopped, i.endIfStopped
	i.stdout.emit = func(line []byte) {
		if i.world.Stdout != nil && len(line) > 0 {
			guard(func() { i.world.Stdout(line) })
		}
	}
	i.stderr.emit = func(line []byte) {
		i.crash.Add(line)
		if i.world.Stderr != nil && len(line) > 0 && i.blocked == nil { // then it is Go's report: see block.go
			guard(func() { i.world.Stderr(line) })
		}
	}
	i.enterWorld(world)
	return i
}

// inhabit gives the instance a machine in the state of the image.
func (i *Instance) inhabit(ctx context.Context, img *image) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if mc := i.module.takeIdle(img, i.memoryLimit()); mc != nil {
		i.module.runtime.stats.reused.Add(1)
		i.moveInLocked(mc)
		return nil
	}
	err := i.instantiateLocked(ctx, img)
	switch {
	case i.linear != nil && i.linear.refused:
		return i.dieLocked(abi.Errorf(abi.CodeOverloaded, "the host has no memory left for an instance"))
	case err != nil:
		return i.dieLocked(i.explainLocked(ctx, "its instantiation", err))
	}
	for n, g := range i.machine.globals {
		g.Set(img.globals[n])
	}
	i.machine.image = img
	i.module.runtime.stats.mapped.Add(1)
	return nil
}

func (i *Instance) moveInLocked(mc *machine) {
	i.machine, i.mod, i.linear = mc, mc.mod, mc.linear
	mc.owner = i
}

// begin lets an instance that is in the state of the image see its world.
func (i *Instance) begin(world World, img *image) (err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = i.dieLocked(abi.Errorf(abi.CodeInternal, "the random source failed: %v", p))
		}
	}()
	i.enterWorld(world)
	i.linear.grow = i.admit
	// The monotonic clock goes on where it stood when the image was made: a timer due a second
	// after the start is due in a second.
	i.origin, i.hasOrigin = neutralTime.UnixNano(), true
	if err := reseed(i.linear.bytes(), img.generators, i.random); err != nil {
		return i.dieLocked(abi.Errorf(abi.CodeInternal, "%v", err))
	}
	i.phase = phaseReady
	i.memory.Store(i.memorySizeLocked())
	return nil
}

// initialize does all that comes before the first turn, within InitTimeout.
func (i *Instance) initialize(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	bounded, cancel := i.module.runtime.boundInit(ctx)
	defer cancel()
	ran, release := i.enterGuestLocked(bounded)
	defer release()

	i.module.runtime.stats.initialized.Add(1)
	err := i.instantiateLocked(ran, nil)
	if err == nil {
		err = i.fillLocked(ran)
	}
	if err := i.initCalledLocked(ctx, ran, "its start function", err); err != nil {
		return err
	}
	if f := i.mod.ExportedFunction(abi.ExportInitialize); f != nil {
		_, err := f.Call(ran)
		if err := i.initCalledLocked(ctx, ran, abi.ExportInitialize, err); err != nil {
			return err
		}
	}
	version, err := i.mod.ExportedFunction(abi.ExportABI).Call(ran)
	if err := i.initCalledLocked(ctx, ran, abi.ExportABI, err); err != nil {
		return err
	}
	if v := int32(uint32(version[0])); v != abi.Version {
		return i.dieLocked(&Trap{
			Err: abi.Errorf(
				abi.CodeABIVersion, "the module speaks version %d of the ABI, and this host speaks version %d", v,
				abi.Version,
			),
		})
	}
	i.flushLocked()
	i.phase = phaseReady
	return nil
}

// instantiateLocked makes memory, tables and globals. The memory is the image's, if there is one.
// The start function of a module without a template runs, too.
func (i *Instance) instantiateLocked(ctx context.Context, img *image) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &hostPanic{fmt.Errorf("the engine panicked: %v", p)}
		}
	}()
	mc := &machine{owner: i, limit: i.memoryLimit()}
	i.machine = mc
	i.mod, err = i.module.runtime.engine.InstantiateModule(i.withMemory(ctx, img), i.module.compiled, mc.systemConfig())
	mc.mod, mc.linear = i.mod, i.linear
	if i.mod != nil {
		mc.findFuel(i.mod)
	}
	if err != nil || i.module.template == nil {
		return err
	}
	return mc.findGlobals(i.module.template.Globals)
}

// fillLocked does the part of instantiating a template that the engine leaves out.
func (i *Instance) fillLocked(ctx context.Context) error {
	template := i.module.template
	if template == nil {
		return nil
	}
	memory := i.mod.Memory()
	for _, s := range template.Segments {
		if !memory.Write(s.Offset, s.Bytes) {
			return &hostPanic{fmt.Errorf("a data segment does not fit into %d bytes", memory.Size())}
		}
	}
	if !template.HasStart {
		return nil
	}
	_, err := i.mod.ExportedFunction(binary.StartExport).Call(ctx)
	return err
}

// initCalledLocked looks how a call before the first turn ended, and explains a failure. As in a turn,
// a call fails also if the guest came back from it as if it had not been refused anything. It is the
// module's fault unless the caller, whose context is ctx, stopped waiting.
func (i *Instance) initCalledLocked(ctx, ran context.Context, where string, err error) error {
	var failure error
	if err != nil {
		failure = i.explainLocked(ran, where, err)
	} else if failure = i.starvedLocked(where); failure == nil {
		failure = i.blockedLocked()
	}
	if failure == nil {
		return nil
	}
	var trap *Trap
	if !errors.As(failure, &trap) || ctx.Err() != nil {
		return i.dieLocked(failure)
	}
	message := trap.Err.Message
	if trap.Err.Code == abi.CodeGuestTimeout {
		message = fmt.Sprintf("it did not return within %v", i.module.runtime.cfg.InitTimeout)
	}
	trap.Err = abi.Errorf(abi.CodeModuleInit, "the module failed in %s: %s", where, message)
	if strings.Contains(message, "panic: cruster: ") { // an SDK refuses a name, or a duplicate declaration
		trap.Err = trap.Err.WithHint("Change what the module declares, build it and push it again.")
	}
	return i.dieLocked(trap)
}

// Describe runs cruster_describe in an instance of its own and returns the bytes of the manifest, which may be anything
// of at most abi.MaxBody bytes.
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
	i.linear.stray()
	_, err := i.mod.ExportedFunction(abi.ExportDescribe).Call(ran)
	if err := i.initCalledLocked(ctx, ran, abi.ExportDescribe, err); err != nil {
		return nil, err
	}
	if !i.hasOutput {
		return nil, i.dieLocked(&Trap{
			Err: abi.Errorf(abi.CodeBadManifest, "the module returned from %s without a manifest", abi.ExportDescribe),
		})
	}
	i.phase = phaseDone
	return i.output, nil
}

// dieLocked makes err the reason for which every later call fails, and gives the memory back. No call of the engine is
// under way.
func (i *Instance) dieLocked(err error) error {
	i.phase, i.cause = phaseDead, err
	i.pending, i.output = nil, nil
	if i.machine != nil {
		i.machine.mod, i.machine.linear = i.mod, i.linear
		i.module.closeMachine(i.machine)
	}
	i.leaveMachineLocked()
	return err
}

func (i *Instance) leaveMachineLocked() {
	i.machine, i.mod, i.linear = nil, nil, nil
}

// restLocked gives the machine of an instance that did nothing wrong to the pool.
func (i *Instance) restLocked() {
	i.phase, i.cause = phaseDead, errClosed
	i.pending, i.output = nil, nil
	mc := i.machine
	i.leaveMachineLocked()
	if !i.module.putIdle(mc) {
		i.module.runtime.stats.discarded.Add(1)
		i.module.closeMachine(mc)
	}
}

// flushLocked hands on the guest's unfinished line of output.
func (i *Instance) flushLocked() {
	i.stdout.flush()
	i.stderr.flush()
}

// MemoryBytes is the size of the instance's linear memory after its last turn; zero once it is dead or closed. Memory
// never shrinks.
func (i *Instance) MemoryBytes() int64 { return i.memory.Load() }

// Close releases the instance. A turn under way is waited for: end its context to hurry it. Close may be called twice,
// and after a trap.
func (i *Instance) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	switch {
	case i.phase == phaseDead:
	case i.phase == phaseInit || i.phase == phaseTurn || i.machine == nil || i.machine.image == nil:
		_ = i.dieLocked(errClosed)
	default:
		i.restLocked()
	}
	i.memory.Store(0)
	i.module.release()
	return nil
}
