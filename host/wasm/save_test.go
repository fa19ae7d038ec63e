package wasm_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestRestoreOfRandomPrograms: an instance saved, thrown away and restored after each turn has the
// state of a resident one, in all ways to make instances and from each to each.
func TestRestoreOfRandomPrograms(t *testing.T) {
	t.Parallel()
	const limit = 16 * wasmPage
	runtimes := map[string]*wasm.Runtime{}
	for way, cfg := range ways(limit) {
		if way != "initialised" {
			runtimes[way] = newRuntimeFor(t, way, cfg)
		}
	}
	names := []string{"copied", "mapped", "reset", "sliced"}
	rapid.Check(t, func(t *rapid.T) {
		content := program(t)
		modules := map[string]*wasm.Module{}
		for way, r := range runtimes {
			m, err := r.Compile(context.Background(), content)
			require.NoError(t, err)
			modules[way] = m
			defer r.Forget(m.Digest())
		}
		way := rapid.SampledFrom(names).Draw(t, "way")
		stays, err := modules[way].Instantiate(context.Background(), wasm.World{})
		require.NoError(t, err)
		defer stays.Close()
		moves, err := modules[way].Instantiate(context.Background(), wasm.World{})
		require.NoError(t, err)
		defer func() { moves.Close() }()
		for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
			for _, i := range []*wasm.Instance{stays, moves} {
				call := i.Resume
				if turn == 0 {
					call = i.Start
				}
				_, err := call(context.Background(), nil)
				require.NoError(t, err)
			}
			saved, err := moves.Save()
			require.NoError(t, err)
			require.NoError(t, moves.Close())
			way := rapid.SampledFrom(names).Draw(t, "way")
			moves, err = modules[way].Restore(context.Background(), wasm.World{}, saved)
			require.NoError(t, err)
			requireState(t, wasm.StateOf(stays), wasm.StateOf(moves), way)
			again, err := moves.Save()
			require.NoError(t, err)
			require.Equal(t, saved, again)
		}
	})
}

// TestWhatCannotBeSaved has no state, or none that fits.
func TestWhatCannotBeSaved(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{MemoryLimit: 4 * wasmPage})
	parks := wasmtest.Module{Start: wasmtest.I32Const(1)}.Assemble()
	m := compile(t, r, parks)
	ready := instantiate(t, m, wasm.World{})
	_, err := ready.Save()
	require.ErrorIs(t, err, wasm.ErrNoState, "it has not begun")

	own := instantiate(t, m, wasm.World{OwnInit: true})
	_, err = own.Start(t.Context(), nil)
	require.NoError(t, err)
	_, err = own.Save()
	require.ErrorIs(t, err, wasm.ErrNoState, "it has no image")

	_, err = ready.Start(t.Context(), nil)
	require.NoError(t, err)
	saved, err := ready.Save()
	require.NoError(t, err)
	for name, spoil := range map[string]func(s *wasm.Saved){
		"another image":     func(s *wasm.Saved) { s.Base[7] ^= 1 },
		"too large":         func(s *wasm.Saved) { s.Size = 5 * wasmPage },
		"too small":         func(s *wasm.Saved) { s.Size = 0 },
		"no whole page":     func(s *wasm.Saved) { s.Size++ },
		"a page beyond":     func(s *wasm.Saved) { s.Pages, s.Content = []uint32{wasmPage / 4096}, make([]byte, 4096) },
		"pages twice":       func(s *wasm.Saved) { s.Pages, s.Content = []uint32{1, 1}, make([]byte, 2*4096) },
		"content missing":   func(s *wasm.Saved) { s.Pages, s.Content = []uint32{1}, nil },
		"globals too many":  func(s *wasm.Saved) { s.Globals = append(slices.Clone(s.Globals), 1) },
		"another module's":  func(s *wasm.Saved) { s.Base = [32]byte{} },
		"content left over": func(s *wasm.Saved) { s.Content = make([]byte, 4096) },
	} {
		spoiled := *saved
		spoil(&spoiled)
		_, err := m.Restore(t.Context(), wasm.World{}, &spoiled)
		require.ErrorIs(t, err, wasm.ErrOtherState, name)
	}
	_, err = m.Restore(t.Context(), wasm.World{OwnInit: true}, saved)
	require.ErrorIs(t, err, wasm.ErrOtherState, "it would initialise itself")

	grown := *saved
	grown.Size = 3 * wasmPage
	restored, err := m.Restore(t.Context(), wasm.World{Memory: &memory{}}, &grown) // it has it already
	require.NoError(t, err)
	require.EqualValues(t, 3*wasmPage, restored.MemoryBytes())
	require.NoError(t, restored.Close())
}
