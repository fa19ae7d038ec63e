package wasm

import (
	"io"
	"math/rand/v2"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"

	"github.com/cruster/cruster/abi"
)

// neutralTime is what the clock of a world without one shows. It is not zero
// because Go's runtime takes a clock at zero for a broken one.
var neutralTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// systemConfig makes WASI preview 1 out of the instance's world: clock, random
// source, sleep and the standard streams. There are no arguments, no environment,
// no files and no sockets, and standard input is empty.
func (i *Instance) systemConfig() wazero.ModuleConfig {
	clock := i.world.Clock
	if clock == nil {
		clock = func() time.Time { return neutralTime }
	}
	random := i.world.Random
	if random == nil {
		random = rand.NewChaCha8([32]byte{})
	}
	// A real clock can be set back, the monotonic one must not follow. time.Time
	// carries a monotonic reading if it is real, and Sub prefers it.
	var base time.Time
	monotonic := func() (ns int64) {
		guard(func() {
			now := clock()
			if base.IsZero() {
				base = now
			}
			ns = max(base.UnixNano()+int64(now.Sub(base)), 1)
		})
		return ns
	}
	wall := func() (sec int64, nsec int32) {
		guard(func() {
			now := clock()
			sec, nsec = now.Unix(), int32(now.Nanosecond())
		})
		return sec, nsec
	}
	const resolution = sys.ClockResolution(time.Microsecond)
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStdout(&i.stdout).
		WithStderr(&i.stderr).
		WithRandSource(guardedReader{random, i.stopped}).
		WithWalltime(wall, resolution).
		WithNanotime(monotonic, resolution).
		WithNanosleep(i.nanosleep)
}

// Go's runtime naps for up to a millisecond a few times while it dies of a panic
// or a fatal error, to let other threads come to rest. Such naps are passed over
// where blocking is refused: otherwise the refusal would hide the reason of the
// death. A program that sleeps that short itself does not get far, since its
// clock stands still and it sleeps again and again.
const (
	maxNap  = time.Millisecond
	maxNaps = 64
)

// nanosleep is what poll_oneoff does when it would block. Go's scheduler calls
// it when all goroutines wait and a timer is pending. A poll without waiting does
// not get here.
func (i *Instance) nanosleep(ns int64) {
	d := time.Duration(ns)
	if i.world.Sleep != nil {
		// If the sleep is broken off the turn's context is done, and the engine
		// ends the guest at its next loop head.
		guard(func() { _ = i.world.Sleep(i.turnCtx, d) })
		return
	}
	if i.naps++; d > maxNap || i.naps > maxNaps {
		panic(fault(abi.CodeBlockingSleep, "the module tried to block for %v", d))
	}
}

// guardedReader marks panics of the world's random source as the host's, and
// yields nothing more once the turn is to end.
type guardedReader struct {
	io.Reader
	stop func() error
}

func (r guardedReader) Read(p []byte) (n int, err error) {
	if err := r.stop(); err != nil {
		return 0, err
	}
	guard(func() { n, err = r.Reader.Read(p) })
	return n, err
}
