package wasm

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mapping maps an image with this content, until the test ends.
func mapping(t *testing.T, content []byte) (*imageFile, []byte) {
	t.Helper()
	file, err := newImageFile(content)
	require.NoError(t, err)
	t.Cleanup(file.close)
	space := reserve(uint64(len(content)))
	require.NotNil(t, space)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(space)) })
	require.True(t, file.mapOver(space))
	return file, space
}

// TestRestore: the written pages of a mapping of an image are the image again, and the others are
// not touched. Where too much was written, nothing is done.
func TestRestore(t *testing.T) {
	t.Parallel()
	const page = 4 << 10
	content := bytes.Repeat([]byte("image"), 1000*page/5)
	file, space := mapping(t, content)
	// A kernel before 6.7 does not know the question. Then all pages are dropped instead.
	img := &image{size: uint64(len(content)), file: file}
	memory := &linearMemory{reserved: space, open: img.size}
	again := memory.forget
	if memory.restore(img) {
		again = func(img *image) bool { memory.stray(); return memory.restore(img) }
	}
	for round := range 3 {
		for _, at := range []int{0, 7*page + 5, 8 * page, 500*page - 1, len(content) - 1} {
			space[at] ^= byte(round + 1)
		}
		require.True(t, again(img))
		require.True(t, bytes.Equal(content, space))
	}
	clear(space[:maxRestoredBytes+page])
	memory.stray()
	require.False(t, memory.restore(img))
	require.True(t, allZero(space[:page]))
	require.True(t, memory.forget(img))
	require.True(t, bytes.Equal(content, space))
}

// TestFaultWatch: the first write to a page of a mapping is noticed, always. Further ones are not, unless the thread
// had another reason to fault.
func TestFaultWatch(t *testing.T) {
	t.Parallel()
	const page, pages = 4 << 10, 100
	_, space := mapping(t, bytes.Repeat([]byte("image"), pages*page/5))
	quiet := 0
	for at := 0; at < len(space); at += page {
		_ = space[at] // that it was read does not matter
		watch := watchFaults()
		space[at]++
		require.True(t, watch.end())
		watch = watchFaults()
		space[at]++
		if !watch.end() {
			quiet++
		}
	}
	require.Positive(t, quiet)
	require.False(t, (&faultWatch{}).end(), "nothing was watched")
}

// TestTrim: pages that guests no longer change are dropped in time, and are found again when one does.
func TestTrim(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	content := bytes.Repeat([]byte("image"), 100*page/5)
	file, space := mapping(t, content)
	seed := uint64(50*page + 100)
	img := &image{size: uint64(len(content)), file: file, generators: []generator{{offset: seed}}}
	memory := &linearMemory{reserved: space, open: img.size}
	if !memory.restore(img) { // a kernel before 6.7: all pages are dropped instead
		require.True(t, memory.forget(img))
		return
	}
	for _, n := range []int{0, 1, 2, 7, 50, 99} {
		space[n*page]++
	}
	memory.stray()
	use := func() {
		space[2*page+9]++
		space[7*page+9]++
		require.True(t, memory.restore(img))
		require.True(t, bytes.Equal(content, space))
	}
	pages := func() (n int) {
		for _, s := range memory.own[:len(memory.own)-1] {
			n += int(s.end-s.start) / page
		}
		return n
	}
	use()
	require.Equal(t, 6, pages())
	for range trimEvery {
		use()
	}
	require.Equal(t, 3, pages(), "two that are changed, and that of the generator")
	written, ok := writtenTo(space)
	require.True(t, ok)
	require.Equal(t, memory.own[:len(memory.own)-1], written, "the others are the image's")

	watch := watchFaults()
	space[page]++
	require.True(t, watch.end(), "the first write to a page that was dropped is noticed")
	memory.stray()
	use()
	require.Equal(t, 4, pages())
}
