package wasm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestTraps lets a Go guest do all the things it should not.
func TestTraps(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{MemoryLimit: 16 << 20})), probeBinary)
	cases := []struct {
		input string
		code  abi.Code
		says  []string
	}{
		{"panic by test", abi.CodeGuestTrap, []string{"panic: told to: by test", "main.go:"}},
		{"nil", abi.CodeGuestTrap, []string{"nil pointer dereference", "main.go:"}},
		{"crowd", abi.CodeGuestTrap, []string{"panic: in a crowd"}},
		{"recurse", abi.CodeGuestMemory, []string{"of 16384 KiB"}},
		{"exit 0", abi.CodeGuestExit, []string{"code 0"}},
		{"exit 2", abi.CodeGuestExit, []string{"code 2", "bye"}},
		{"exit 4026531839", abi.CodeGuestExit, []string{"code 4026531839"}},
		{"hog", abi.CodeGuestMemory, []string{"of 16384 KiB"}},
		{
			"nap", abi.CodeBlockingSleep,
			[]string{"block for 1s: goroutine ", "in main.init.func", "waits (sleep) at " + probeLine(t, "nap")},
		},
		{
			"alarm", abi.CodeBlockingSleep,
			[]string{"block for 1s: goroutine ", "waits (chan receive) at " + probeLine(t, "alarm")},
		},
		{"blink", abi.CodeBlockingSleep, []string{"block for 1µs: goroutine ", "waits (sleep) at probe/main.go:"}},
		{"deadlock", abi.CodeGuestDeadlock, []string{"every task waits", "waits (sync.Mutex.Lock) at probe/main.go:"}},
		{"status 2", abi.CodeGuestProtocol, []string{"unknown status 2"}},
		{"status -1", abi.CodeGuestProtocol, []string{"unknown status -1"}},
		{"status 0", abi.CodeGuestProtocol, []string{"without an output"}},
		{"twice", abi.CodeGuestProtocol, []string{"output twice"}},
		{"again", abi.CodeGuestProtocol, []string{"none is pending"}},
		{"both", abi.CodeGuestProtocol, []string{"parked, but with an output"}},
		{"big", abi.CodePayloadTooLarge, []string{"4194305 bytes"}},
		{"wildout", abi.CodeBadPointer, []string{"output", "0xffff0000"}},
		{"wildop", abi.CodeBadPointer, []string{"sleep"}},
		{"wildlog", abi.CodeBadPointer, []string{"log"}},
	}
	for _, c := range cases {
		t.Run(c.input, func(t *testing.T) {
			t.Parallel()
			i := instantiate(t, m, wasm.World{
				Op:  func(string, []byte) (uint32, *abi.Error) { return 1, nil },
				Log: func(int32, []byte) {},
			})
			_, err := i.Start(context.Background(), []byte(c.input))
			trap := requireTrap(t, err, c.code)
			for _, part := range c.says {
				require.Contains(t, trap.Err.Message, part)
			}
			require.NotContains(t, trap.Err.Message, "\n")
			require.Less(t, len(trap.Err.Message), 1000)
			require.LessOrEqual(t, len(trap.Stderr), 8<<10)
			require.NotContains(t, trap.Backtrace, "goroutine", "the host's own stack is not shown")

			_, again := i.Resume(context.Background(), nil)
			require.ErrorIs(t, again, err, "a dead instance stays dead")
			require.Zero(t, i.MemoryBytes())
		})
	}
}

func TestTheTrapOfAPanicKeepsStandardError(t *testing.T) {
	t.Parallel()
	_, err := newProbe(t, wasm.World{}).Start(context.Background(), []byte("panic now"))
	trap := requireTrap(t, err, abi.CodeGuestTrap)
	require.Contains(t, trap.Stderr, "panic: told to: now")
	require.Contains(t, trap.Stderr, "goroutine ")
	require.Equal(t, abi.CodeGuestTrap.Info().Hint, trap.Err.Hint)
}

func TestEndlessLoopEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)

	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		i := instantiate(t, m, wasm.World{})
		err := untilItBegins(func(ctx context.Context) error {
			_, err := i.Start(ctx, []byte("spin"))
			return err
		})
		trap := requireTrap(t, err, abi.CodeGuestTimeout)
		require.Contains(t, trap.Err.Message, "deadline")
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		i := instantiate(t, m, wasm.World{Log: func(int32, []byte) { cancel() }})
		_, err := i.Start(ctx, []byte("spin"))
		requireTrap(t, err, abi.CodeGuestTimeout)
	})
	t.Run("recursion without a loop", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		i := instantiate(t, compile(
			t, newRuntime(t, wasm.Config{}), wasmtest.Forking(),
		), wasm.World{Log: func(int32, []byte) { cancel() }})
		_, err := i.Start(ctx, nil)
		requireTrap(t, err, abi.CodeGuestTimeout)
	})
	t.Run("over before it began", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		i := instantiate(t, m, wasm.World{})
		_, err := i.Start(ctx, []byte("echo x"))
		require.ErrorIs(t, err, context.Canceled)
		turn, err := i.Start(context.Background(), []byte("echo x"))
		require.NoError(t, err, "the instance was not touched")
		require.Equal(t, "x", string(turn.Output))
	})
}

// TestTinyTraps runs code by hand that compilers would not produce.
func TestTinyTraps(t *testing.T) {
	t.Parallel()
	sleepImport := []wasmtest.Import{wasmtest.Cruster(abi.OpSleep, wasmtest.TypeOp)}
	cases := []struct {
		name   string
		module wasmtest.Module
		code   abi.Code
		says   string
	}{
		{"unreachable", wasmtest.Module{Start: wasmtest.Unreachable}, abi.CodeGuestTrap, "unreachable"},
		{
			"out of bounds",
			wasmtest.Module{Start: wasmtest.Join(wasmtest.I32Const(-4), []byte{0x28, 2, 0})},
			abi.CodeGuestTrap, "out of bounds",
		},
		{
			"division",
			wasmtest.Module{Start: wasmtest.Join(wasmtest.I32Const(1), wasmtest.I32Const(0), []byte{0x6d})},
			abi.CodeGuestTrap, "divide by zero",
		},
		{"deep recursion", wasmtest.Module{
			Start: wasmtest.Join(wasmtest.I32Const(0), wasmtest.Call(wasmtest.Self(0))),
			Extra: wasmtest.Join(wasmtest.I32Const(0), wasmtest.Call(wasmtest.Self(0)), wasmtest.I32Const(1), []byte{
				0x6a,
			}),
		}, abi.CodeGuestTrap, "stack overflow"},
		{
			"memory bomb",
			wasmtest.Module{Start: wasmtest.Join(wasmtest.GrowBomb, wasmtest.Unreachable)},
			abi.CodeGuestMemory, "KiB of 65536 KiB",
		},
		{"body half outside", wasmtest.Module{
			Imports: sleepImport,
			Start:   wasmtest.Join(wasmtest.I32Const(65530), wasmtest.I32Const(10), wasmtest.Call(0)),
		}, abi.CodeBadPointer, "outside of its memory"},
		{"body at the very end of the address space", wasmtest.Module{
			Imports: sleepImport,
			Start:   wasmtest.Join(wasmtest.I32Const(-1), wasmtest.I32Const(1), wasmtest.Call(0)),
		}, abi.CodeBadPointer, "0xffffffff"},
		{"input outside", wasmtest.Module{
			Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportInput, wasmtest.TypePtr)},
			Start:   wasmtest.Join(wasmtest.I32Const(65534), wasmtest.Call(0), wasmtest.I32Const(1)),
		}, abi.CodeBadPointer, "input"},
	}
	r := newRuntime(t, wasm.Config{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			i := instantiate(t, compile(t, r, c.module.Assemble()), wasm.World{
				Op: func(string, []byte) (uint32, *abi.Error) { return 1, nil },
			})
			_, err := i.Start(context.Background(), []byte("input"))
			require.Contains(t, requireTrap(t, err, c.code).Err.Message, c.says)
		})
	}
}

func TestTablesCannotGrowWithoutBound(t *testing.T) {
	t.Parallel()
	// Asks for 100 million entries; table.grow answers -1.
	grow := wasmtest.Join([]byte{0xd0, 0x70}, wasmtest.I32Const(100_000_000), []byte{0xfc, 0x0f, 0x00})
	m := wasmtest.Module{Table: wasmtest.Vector([]byte{0x70, 0, 1}), Start: grow}
	i := instantiate(t, compile(t, newRuntime(t, wasm.Config{}), m.Assemble()), wasm.World{})
	_, err := i.Start(context.Background(), nil)
	require.Contains(t, requireTrap(t, err, abi.CodeGuestProtocol).Err.Message, "unknown status -1")
}

func TestFailuresBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	output := []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)}
	misuse := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.Call(0))
	cases := []struct {
		name   string
		binary []byte
		code   abi.Code
		says   string
	}{
		{"Go init loops", initLoopBinary, abi.CodeModuleInit, "within 1s"},
		{
			"_initialize loops", wasmtest.Module{Init: wasmtest.Endless}.Assemble(), abi.CodeModuleInit,
			"_initialize: it did not return within",
		},
		{
			"start function loops", wasmtest.Module{Init: wasmtest.Endless, StartFunction: true}.Assemble(),
			abi.CodeModuleInit, "start function: it did not return within",
		},
		{
			"start function traps", wasmtest.Module{Init: wasmtest.Unreachable, StartFunction: true}.Assemble(),
			abi.CodeModuleInit, "start function: the module crashed: unreachable",
		},
		{
			"_initialize traps", wasmtest.Module{Init: wasmtest.Unreachable}.Assemble(), abi.CodeModuleInit,
			"_initialize: the module crashed: unreachable",
		},
		{
			"_initialize calls imports", wasmtest.Module{Imports: output, Init: misuse}.Assemble(), abi.CodeModuleInit,
			"cruster.output outside of a turn",
		},
		{
			"cruster_abi loops", wasmtest.Module{ABI: wasmtest.Join(wasmtest.Endless, wasmtest.Unreachable)}.Assemble(),
			abi.CodeModuleInit, "cruster_abi: it did not return within",
		},
		{
			"cruster_abi calls imports",
			wasmtest.Module{Imports: output, ABI: wasmtest.Join(misuse, wasmtest.I32Const(1))}.Assemble(),
			abi.CodeModuleInit, "outside of a turn",
		},
		{"wrong version", wasmtest.Module{ABI: wasmtest.I32Const(2)}.Assemble(), abi.CodeABIVersion, "version 2"},
		{
			"cruster_describe loops", wasmtest.Module{Describe: wasmtest.Endless}.Assemble(), abi.CodeModuleInit,
			"cruster_describe: it did not return within",
		},
		{
			"cruster_describe traps", wasmtest.Module{Describe: wasmtest.Unreachable}.Assemble(), abi.CodeModuleInit,
			"cruster_describe: the module crashed",
		},
		{"no manifest", wasmtest.Module{}.Assemble(), abi.CodeBadManifest, "without a manifest"},
		{
			"two manifests", wasmtest.Module{Imports: output, Describe: wasmtest.Join(misuse, misuse)}.Assemble(),
			abi.CodeModuleInit, "twice",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := cached(wasm.Config{})
			if strings.Contains(c.says, "within") {
				cfg.InitTimeout = time.Second
			}
			r := newRuntime(t, cfg)
			_, err := compile(t, r, c.binary).Describe(context.Background())
			trap := requireTrap(t, err, c.code)
			require.Contains(t, trap.Err.Message, c.says)
			require.False(t, trap.Err.Retryable)
		})
	}
}

// TestWhatAnSDKRefuses is not about the sandbox, and the hint is not either.
func TestWhatAnSDKRefuses(t *testing.T) {
	t.Parallel()
	_, err := compile(t, newRuntime(t, cached(wasm.Config{})), initTwiceBinary).Describe(context.Background())
	trap := requireTrap(t, err, abi.CodeModuleInit)
	require.Contains(t, trap.Err.Message, `cruster: workflow "w" is registered twice`)
	require.Equal(t, "Change what the module declares, build it and push it again.", trap.Err.Hint)
}

func TestGivingUpOnAnInstanceIsNotTheModulesFault(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, wasm.Config{}), wasmtest.Module{Init: wasmtest.Endless}.Assemble())
	requireTrap(t, untilItBegins(func(ctx context.Context) error {
		_, err := m.Instantiate(ctx, wasm.World{})
		return err
	}), abi.CodeGuestTimeout)
}

// untilItBegins has a guest compute for as long as it may, again if its time was up before it
// began.
func untilItBegins(compute func(ctx context.Context) error) error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		err := compute(ctx)
		cancel()
		if trap := (*wasm.Trap)(nil); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &trap) {
			return err
		}
	}
}

func TestLongLinesAndGarbageOnStandardError(t *testing.T) {
	t.Parallel()
	i := newProbe(t, wasm.World{})
	_, err := i.Start(context.Background(), []byte("panic \x00\x1b[31m\xff"+strings.Repeat("long ", 10_000)))
	trap := requireTrap(t, err, abi.CodeGuestTrap)
	require.Less(t, len(trap.Err.Message), 1000)
	for _, text := range []string{trap.Err.Message, trap.Stderr} {
		require.NotContains(t, text, "\x1b")
		require.NotContains(t, text, "\x00")
		require.NotContains(t, text, "\xff")
	}
}
