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
		WithRandSource(guardedReader{random}).
		WithWalltime(wall, resolution).
		WithNanotime(monotonic, resolution).
		WithNanosleep(i.nanosleep)
}

// nanosleep is what poll_oneoff does when it would block. Go's scheduler calls
// it when all goroutines wait and a timer is pending. A poll without waiting does
// not get here.
func (i *Instance) nanosleep(ns int64) {
	if i.world.Sleep == nil {
		panic(fault(abi.CodeBlockingSleep, "the module tried to block for %v", time.Duration(ns)))
	}
	// If the sleep is broken off the turn's context is done, and the engine ends
	// the guest at its next loop head.
	guard(func() { _ = i.world.Sleep(i.turn, time.Duration(ns)) })
}

// guardedReader marks panics of the world's random source as the host's.
type guardedReader struct{ io.Reader }

func (r guardedReader) Read(p []byte) (n int, err error) {
	guard(func() { n, err = r.Reader.Read(p) })
	return n, err
}
