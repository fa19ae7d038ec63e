package wasm

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRestore: what was written to a mapping of an image is the image again, and what
// was not is not touched. Where too much was written, nothing is done.
func TestRestore(t *testing.T) {
	t.Parallel()
	const page = 4 << 10
	content := bytes.Repeat([]byte("image"), 1000*page/5)
	file, err := newImageFile(content)
	require.NoError(t, err)
	defer file.close()
	space := reserve(uint64(len(content)))
	require.NotNil(t, space)
	defer func() { require.NoError(t, syscall.Munmap(space)) }()
	require.True(t, file.mapOver(space))
	// A kernel before 6.7 does not know the question. Then all pages are dropped instead.
	again := forget
	if restore(space, file.view) {
		again = func(space []byte) bool { return restore(space, file.view) }
	}
	for round := range 3 {
		for _, at := range []int{0, 7*page + 5, 8 * page, 500*page - 1, len(content) - 1} {
			space[at] ^= byte(round + 1)
		}
		require.True(t, again(space))
		require.True(t, bytes.Equal(content, space))
	}
	clear(space[:maxRestoredBytes+page])
	require.False(t, restore(space, file.view))
	require.True(t, allZero(space[:page]))
	require.True(t, forget(space))
	require.True(t, bytes.Equal(content, space))
}
