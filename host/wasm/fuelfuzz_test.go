package wasm_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// writer writes a program that its choices decide. Whatever they are, it is valid and ends: loops count down, and only
// the first function makes calls.
type writer struct {
	choices []byte
	depth   int   // of blocks that are open
	loops   []int // which of them are loops
	calls   bool
	budget  int
	lead    int32 // empty entries of the table before the function
	code    []byte
}

// Locals of a function: its parameter, four to compute with, and one for each loop that is open.
const (
	plainLocals = 5
	maxLoops    = 3
)

func (w *writer) choose(n int) int {
	if len(w.choices) == 0 {
		return 0
	}
	c := int(w.choices[0])
	w.choices = w.choices[1:]
	return c % n
}

func (w *writer) put(code ...byte) { w.code = append(w.code, code...) }

func (w *writer) number(n int32) { w.put(wasmtest.I32Const(n)...) }

func (w *writer) get() { w.put(0x20, byte(w.choose(plainLocals))) }

func (w *writer) set() { w.put(0x21, byte(w.choose(plainLocals))) }

// address leaves an address on the stack; now and then one outside of the memory.
func (w *writer) address() {
	w.get()
	if w.choose(64) > 0 {
		w.number(0xffff)
		w.put(0x71)
	}
}

// length leaves a length: short, long, or none of both.
func (w *writer) length() {
	switch w.choose(4) {
	case 0:
		w.number(int32(w.choose(256)))
	case 1:
		w.get()
		w.number(0xff)
		w.put(0x71)
	default:
		w.get()
		w.number(0x1ffff) // several pieces
		w.put(0x71)
	}
}

// statements writes some, with the stack as it was.
func (w *writer) statements() {
	for n := w.choose(6) + 1; n > 0 && w.budget > 0; n-- {
		w.budget--
		w.statement()
	}
}

func (w *writer) statement() {
	switch w.choose(16) {
	case 0, 1, 2:
		w.get()
		w.get()
		w.put([]byte{0x6a, 0x6b, 0x6c, 0x73, 0x74, 0x76, 0x78}[w.choose(7)])
		w.set()
	case 3:
		w.get()
		w.get()
		w.put([]byte{0x6d, 0x6e, 0x70}[w.choose(3)]) // division: may trap
		w.set()
	case 4:
		w.address()
		w.put(0x28, 0, 0)
		w.set()
	case 5:
		w.address()
		w.get()
		w.put(0x36, 0, 0)
	case 6, 7:
		w.block(0x02, nil)
	case 8:
		w.get()
		w.block(0x04, func() {
			if w.choose(2) == 0 {
				w.put(0x05)
				w.statements()
			}
		})
	case 9, 10:
		w.loop()
	case 11:
		w.branch()
	case 12:
		w.address()
		w.address()
		w.length()
		w.put(0xfc, 10, 0, 0)
	case 13:
		w.address()
		w.get()
		w.length()
		w.put(0xfc, 11, 0)
	case 14:
		w.get()
		w.put(0x23, 0, 0x6a, 0x24, 0) // global
	default:
		w.call()
	}
}

func (w *writer) block(op byte, more func()) {
	if w.depth > 8 {
		if op == 0x04 {
			w.put(0x1a)
		}
		return
	}
	w.put(op, 0x40)
	w.depth++
	w.statements()
	if more != nil {
		more()
	}
	w.depth--
	w.put(0x0b)
}

// loop repeats statements a few times.
func (w *writer) loop() {
	if len(w.loops) == maxLoops {
		return
	}
	counter := byte(plainLocals + len(w.loops))
	w.number(int32(w.choose(5)))
	w.put(0x21, counter, 0x03, 0x40)
	w.depth++
	w.loops = append(w.loops, w.depth)
	w.statements()
	w.put(0x20, counter)
	w.number(1)
	w.put(0x6b, 0x22, counter)
	w.number(0)
	w.put(0x4a, 0x0d, 0) // if it is above zero: again
	w.loops = w.loops[:len(w.loops)-1]
	w.depth--
	w.put(0x0b)
}

// branch leaves some block forwards.
func (w *writer) branch() {
	var labels []byte
	for label := range w.depth {
		forward := true
		for _, loop := range w.loops {
			forward = forward && loop != w.depth-label
		}
		if forward {
			labels = append(labels, byte(label))
		}
	}
	if len(labels) == 0 {
		return
	}
	w.get()
	label := labels[w.choose(len(labels))]
	switch w.choose(4) {
	case 0:
		w.put(0x04, 0x40, 0x0c, label+1, 0x0b)
	case 1:
		w.put(0x04, 0x40, 0x20, 0, 0x0f, 0x0b) // return
	case 2:
		w.put(0x04, 0x40, 0x20, 1, 0x0e, 1, label+1, labels[w.choose(len(labels))]+1, 0x0b)
	default:
		w.put(0x0d, label)
	}
}

func (w *writer) call() {
	if !w.calls {
		return
	}
	w.get()
	if w.choose(2) == 0 {
		w.put(0x10, wasmtest.Self(1))
	} else {
		w.entry()
		w.put(0x11, wasmtest.TypeTurn, 0)
	}
	w.set()
}

// entry leaves the place of the function in the table; now and then one where nothing is.
func (w *writer) entry() {
	switch w.choose(32) {
	case 0:
		w.number(
			[]int32{
				w.lead - 1, w.lead + 1, w.lead + 255, w.lead + 256, w.lead + 1023, w.lead + 1024, 0, -1, math.MinInt32,
			}[w.choose(9)],
		)
	case 1:
		w.get()
	case 2:
		w.get()
		w.number(0x3ff)
		w.put(0x71)
		w.number(w.lead)
		w.put(0x6a)
	default:
		w.number(w.lead)
	}
}

// table is one with the function, as in Rust, or with many, empty entries before, between and behind
// them, as in Go.
func (w *writer) table() (table, elements []byte) {
	self := wasmtest.Self(1)
	segment := func(at int32, functions int) []byte {
		return wasmtest.Join(
			[]byte{0}, wasmtest.I32Const(at), []byte{0x0b}, wasmtest.U32(functions),
			bytes.Repeat([]byte{self}, functions),
		)
	}
	if w.lead == 0 {
		return wasmtest.Vector([]byte{0x70, 0, 2}), wasmtest.Vector(segment(0, 1))
	}
	return wasmtest.Vector(append([]byte{0x70, 0}, wasmtest.U32(int(w.lead)+1024)...)),
		wasmtest.Vector(segment(w.lead+300, 600), segment(w.lead, 255), segment(w.lead+254, 3))
}

// function writes the code of a function. In the end it stores its values.
func (w *writer) function(calls bool, at int32) []byte {
	w.code, w.calls, w.budget = nil, calls, 60
	w.put(0x02, 0x40)
	w.depth = 1
	w.statements()
	w.put(0x0b)
	w.depth = 0
	for local := range byte(plainLocals) {
		w.number(at + 4*int32(local))
		w.put(0x20, local, 0x36, 0, 0)
	}
	w.number(at + 4*plainLocals)
	w.put(0x23, 0, 0x36, 0, 0)
	return w.code
}

// randomProgram returns a module whose turn stores its results.
func randomProgram(choices []byte) []byte {
	w := &writer{choices: choices}
	w.lead = []int32{0, 4096}[w.choose(2)] // as in Rust, and as in Go
	table, elements := w.table()
	extra := append(w.function(false, 0x8000), 0x20, 1)
	return wasmtest.Module{
		Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)},
		Pages:   3, Locals: plainLocals - 1 + maxLoops,
		Globals:  wasmtest.Vector([]byte{0x7f, 1, 0x41, 0, 0x0b}),
		Table:    table,
		Elements: elements,
		Extra:    extra,
		Start:    append(w.function(true, 0x9000), wasmtest.I32Const(abi.StatusParked)...),
		Data:     []byte("some bytes to begin with, so that not all of it is zero"),
	}.Assemble()
}

// requireSameWithFuel runs a program as it is and metered, and compares all that can be seen. It reports whether the
// program came to its end.
func requireSameWithFuel(t testing.TB, plain, metered *wasm.Runtime, program []byte) (returned bool) {
	t.Helper()
	free, err := plain.CompileChanged(program, func([]byte) []byte { return program })
	require.NoError(t, err)
	defer plain.Forget(free.Digest())
	m, err := metered.Compile(context.Background(), program)
	require.NoError(t, err)
	defer metered.Forget(m.Digest())
	run := func(m *wasm.Module, world wasm.World) (memory []byte, fuel int64, err error) {
		i, err := m.Instantiate(context.Background(), world)
		require.NoError(t, err)
		defer i.Close()
		if _, err = i.Start(context.Background(), make([]byte, 77)); err == nil {
			memory = wasm.StateOf(i).Memory
		}
		return memory, i.FuelUsed(), err
	}
	want, _, failed := run(free, wasm.World{})
	got, used, err := run(m, wasm.World{})
	if failed != nil {
		require.EqualError(t, err, failed.Error())
		return false
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, again, err := run(m, wasm.World{Fuel: used})
	require.NoError(t, err, "what it has used is enough")
	require.Equal(t, used, again, "and it uses the same again")
	if used > 1 {
		_, _, err = run(m, wasm.World{Fuel: 1})
		var trap *wasm.Trap
		require.True(t, err == nil || errors.As(err, &trap) && trap.Err.Code == abi.CodeGuestTimeout, "%v", err)
	}
	return true
}

// TestFuelChangesNoResult compares some random programs; FuzzFuel goes on.
func TestFuelChangesNoResult(t *testing.T) {
	t.Parallel()
	plain, metered := newRuntime(t, wasm.Config{}), newRuntime(t, wasm.Config{})
	random := rand.NewChaCha8([32]byte{1})
	returned := 0
	for range 300 {
		choices := make([]byte, 400)
		_, _ = random.Read(choices)
		if requireSameWithFuel(t, plain, metered, randomProgram(choices)) {
			returned++
		}
	}
	require.Greater(t, returned, 100, "not all of them trap")
}

// FuzzFuel compares programs before and after they are metered.
func FuzzFuel(f *testing.F) {
	f.Add([]byte("a few choices"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		plain, metered := newRuntime(t, wasm.Config{}), newRuntime(t, wasm.Config{})
		requireSameWithFuel(t, plain, metered, randomProgram(choices[:min(len(choices), 2000)]))
	})
}
