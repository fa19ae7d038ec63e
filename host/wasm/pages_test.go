package wasm_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// pageWriter writes to the page, among the ones known to the kernel, whose number is the length of
// its input.
func pageWriter() []byte {
	write := wasmtest.Join(
		[]byte{0x20, 0}, wasmtest.I32Const(4<<10), []byte{0x6c}, wasmtest.I32Const(7), []byte{0x36, 0, 0},
	)
	return wasmtest.Module{
		Pages: 4, Init: []byte{nop},
		Start:  wasmtest.Join(write, wasmtest.I32Const(1)),
		Resume: wasmtest.Join(write, wasmtest.I32Const(1)),
	}.Assemble()
}

// TestResetFindsEveryPage: whichever pages the guests before have written to, and however often, an instance begins
// with the image.
func TestResetFindsEveryPage(t *testing.T) {
	t.Parallel()
	const goroutines, uses, pages = 4, 300, 64
	m := compile(t, newRuntime(t, cached(wasm.Config{})), pageWriter())
	fresh := wasm.StateOf(instantiate(t, m, wasm.World{}))
	var wait sync.WaitGroup
	for n := range goroutines {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for use := range uses {
				i, err := m.Instantiate(context.Background(), wasm.World{})
				if err != nil {
					t.Error(err)
					return
				}
				if state := wasm.StateOf(i); string(state.Memory) != string(fresh.Memory) {
					t.Errorf("use %d begins with what another has left", use)
				}
				// Early uses write to few pages, so that later ones find new ones.
				page := func() []byte { return make([]byte, random.IntN(1+use*pages/uses)) }
				if _, err = i.Start(context.Background(), page()); err == nil && random.IntN(2) == 0 {
					_, err = i.Resume(context.Background(), page())
				}
				if err != nil {
					t.Error(err)
				}
				if err := i.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}
