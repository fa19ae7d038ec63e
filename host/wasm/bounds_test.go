package wasm_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// TestClaimsAreHeldAgainstTheBytes uploads modules of a few bytes that claim to
// contain billions of things, for which the engine would make room.
func TestClaimsAreHeldAgainstTheBytes(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	header := []byte("\x00asm\x01\x00\x00\x00")
	huge := leb(math.MaxUint32)
	body := func(locals ...[]byte) []byte {
		b := code(vec(locals...), []byte{0x0b})
		return sect(10, vec(code(leb(len(b)), b)))
	}
	bombs := map[string][]byte{
		"section size":         code([]byte{1}, huge),
		"parameters":           sect(1, vec(code([]byte{0x60}, huge))),
		"results":              sect(1, vec(code([]byte{0x60, 0}, huge))),
		"module name":          sect(2, vec(huge)),
		"export name":          sect(7, vec(huge)),
		"elements":             sect(9, vec(code([]byte{0, 0x41, 0, 0x0b}, huge))),
		"elements by type":     sect(9, vec(code([]byte{5, 0x70}, huge))),
		"data":                 sect(11, vec(code([]byte{0, 0x41, 0, 0x0b}, huge))),
		"passive data":         sect(11, vec(code([]byte{1}, huge))),
		"function size":        sect(10, vec(huge)),
		"locals":               body(code(huge, []byte{0x7e})),
		"locals in all groups": body(code(leb(30_000), []byte{0x7e}), code(leb(30_000), []byte{0x7e})),
		"unknown section":      sect(13, huge),
	}
	for id := byte(1); id <= 11; id++ {
		if id == 8 {
			continue // the start section is a single index
		}
		bombs[fmt.Sprintf("entries of section %d", id)] = sect(id, huge)
		bombs[fmt.Sprintf("a million entries of section %d", id)] = sect(id, code(leb(1_000_000), make([]byte, 100)))
	}
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Behind a module that is fine as far as it goes, so that what comes last
			// is judged too.
			for _, binary := range [][]byte{code(header, bomb), code(tiny{noCode: true}.assemble(), bomb)} {
				_, err := r.Compile(context.Background(), binary)
				require.Error(t, err)
				require.NotEqual(t, abi.CodeInternal, abi.CodeOf(err))
				requirePlain(t, err)
			}
		})
	}
}

func TestCustomSectionsDoNotReachTheEngine(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	custom := func(name string, content ...[]byte) []byte { return sect(0, code(str(name), code(content...))) }
	huge := leb(math.MaxUint32)
	for name, section := range map[string][]byte{
		"function names":                 custom("name", []byte{1}, leb(6), huge, []byte{0}),
		"local names":                    custom("name", []byte{2}, leb(6), huge, []byte{0}),
		"names of nothing":               custom("name", []byte{1}),
		"debug information":              custom(".debug_info", huge, huge),
		"debug lines":                    custom(".debug_line", huge),
		"no name":                        sect(0, nil),
		"a name longer than all":         sect(0, huge),
		"a size longer than the section": custom("name", []byte{1}, huge),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := compile(t, r, code(tiny{}.assemble(), section))
			turn, err := instantiate(t, m, wasm.World{}).Start(context.Background(), nil)
			require.NoError(t, err)
			require.True(t, turn.Parked)
		})
	}
}

func TestBacktracesHaveNames(t *testing.T) {
	t.Parallel()
	names := vec(code(leb(2), str("the_culprit")))
	section := sect(0, code(str("name"), []byte{1}, leb(len(names)), names))
	m := compile(t, newRuntime(t, wasm.Config{}), code(tiny{start: unreachable}.assemble(), section))
	_, err := instantiate(t, m, wasm.World{}).Start(context.Background(), nil)
	require.Contains(t, requireTrap(t, err, abi.CodeGuestTrap).Backtrace, "the_culprit")
}
