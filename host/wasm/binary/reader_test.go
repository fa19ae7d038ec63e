package binary

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReaderFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		read func(*reader)
		says string
	}{
		"no byte":       {nil, func(r *reader) { r.byte() }, "ends too early"},
		"half a number": {[]byte{0x80}, func(r *reader) { r.u32() }, "ends too early"},
		"33 bits":       {[]byte{0xff, 0xff, 0xff, 0xff, 0x1f}, func(r *reader) { r.u32() }, "more than 32 bits"},
		"six bytes": {
			[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}, func(r *reader) { r.u32() }, "more than 32 bits",
		},
		"too few bytes": {[]byte{1, 2}, func(r *reader) { r.bytes(3) }, "ends too early"},
		"invalid UTF-8": {[]byte{1, 0xff}, func(r *reader) { r.name() }, "not UTF-8"},
		"more than 64 bits": {
			[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
			func(r *reader) { r.signed() },
			"more than 64 bits",
		},
		"bytes are left": {[]byte{1, 2}, func(r *reader) { r.byte(); r.end() }, "1 bytes behind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reader{data: c.data}
			c.read(r)
			require.ErrorContains(t, r.err, c.says)
			first := r.err
			require.Zero(t, r.byte(), "what follows a failure is zero")
			require.Equal(t, first, r.err, "the first failure stays")
		})
	}
}

func TestS32OutOfRange(t *testing.T) {
	t.Parallel()
	_, ok := (&reader{data: []byte{0xff, 0xff, 0xff, 0xff, 0x1f}}).s32()
	require.False(t, ok)
	_, ok = (&reader{data: []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}}).s32()
	require.False(t, ok)
}
