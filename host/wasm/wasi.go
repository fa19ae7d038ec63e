package wasm

import (
	"math/rand/v2"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"
)

// neutralTime is the time shown by the clock of a world without one. It is not zero because Go's
// runtime takes a clock at zero for a broken one.
var neutralTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// enterWorld selects the world that WASI shows from now on.
func (i *Instance) enterWorld(world World) {
	i.world = world
	i.clock, i.random = world.Clock, world.Random
	if i.clock == nil {
		i.clock = func() time.Time { return neutralTime }
	}
	if i.random == nil {
		i.random = rand.NewChaCha8([32]byte{})
	}
	i.base, i.hasOrigin = time.Time{}, false
}

// systemConfig makes WASI preview 1 out of the world of the machine's owner: clock, random source, sleep and the
// standard streams. There are no arguments, no environment, no files and no sockets, and standard input is empty.
func (mc *machine) systemConfig() wazero.ModuleConfig {
	const resolution = sys.ClockResolution(time.Microsecond)
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStdout(writerFunc(func(p []byte) (int, error) { return mc.owner.stdout.Write(p) })).
		WithStderr(writerFunc(func(p []byte) (int, error) { return mc.owner.stderr.Write(p) })).
		WithRandSource(readerFunc(func(p []byte) (int, error) { return mc.owner.draw(p) })).
		WithWalltime(func() (int64, int32) { return mc.owner.walltime() }, resolution).
		WithNanotime(func() int64 { return mc.owner.nanotime() }, resolution).
		WithNanosleep(func(ns int64) { mc.owner.nanosleep(ns) })
}

type (
	writerFunc func(p []byte) (int, error)
	readerFunc func(p []byte) (int, error)
)

// Write implements [io.Writer].
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Read implements [io.Reader].
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (i *Instance) walltime() (sec int64, nsec int32) {
	i.wallReads++
	guard(func() {
		now := i.clock()
		sec, nsec = now.Unix(), int32(now.Nanosecond())
	})
	return sec, nsec
}

// nanotime is the monotonic clock. A real clock can be set back, and it must not follow. time.Time carries a monotonic
// reading if it is real, and Sub prefers it.
func (i *Instance) nanotime() (ns int64) {
	guard(func() {
		now := i.clock()
		if i.base.IsZero() {
			i.base = now
			if !i.hasOrigin {
				i.origin = now.UnixNano()
			}
		}
		ns = max(i.origin+int64(now.Sub(i.base)), 1)
	})
	return ns
}

// draw yields random numbers. A panic of the world's source is marked as the host's.
func (i *Instance) draw(p []byte) (n int, err error) {
	i.endIfStopped()
	guard(func() { n, err = i.random.Read(p) })
	i.drawn += n
	return n, err
}

// Go's runtime naps for up to a millisecond a few times while it dies of a panic or a fatal error, to let other threads
// come to rest. Such naps are passed over where blocking is refused: otherwise the refusal would hide the reason of the
// death. A program that sleeps that short itself does not get far, since its clock stands still and it sleeps again and
// again.
const (
	maxNap  = time.Millisecond
	maxNaps = 64
)

// nanosleep is called by poll_oneoff when it would block. Go's scheduler calls it when all goroutines wait and a timer
// is pending. A poll without waiting does not get here.
func (i *Instance) nanosleep(ns int64) {
	d := time.Duration(ns)
	if i.world.Sleep != nil {
		// If the sleep is broken off the turn's context is done, and the guest ends when it is out of fuel, or has said
		// where it slept.
		i.stopWatching()
		i.leaveCore()
		bound, cancel := i.module.runtime.bind(i.turnCtx)
		defer cancel()
		guard(func() { _ = i.world.Sleep(bound, d) })
		i.endBlocked()
		return
	}
	if i.naps++; d > maxNap || i.naps > maxNaps {
		i.refuseToBlock(d)
	}
}
