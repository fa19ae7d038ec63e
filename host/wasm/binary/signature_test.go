package binary

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSignatureString(t *testing.T) {
	t.Parallel()
	require.Equal(t, "()", Signature{}.String())
	require.Equal(t, "(i32, i64) → f32, f64", Signature{"\x7f\x7e", "\x7d\x7c"}.String())
	require.Equal(t, "(v128, funcref, externref)", Signature{Params: "\x7b\x70\x6f"}.String())
	long := Signature{Params: strings.Repeat("\x7f", 1000)}.String()
	require.Len(t, long, 120+len("…"))
	require.Equal(t, "a…", cut("aé", 2), "a rune is not cut in two")
}

func TestShowName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "plain_name", showName("plain_name"))
	require.Equal(t, `""`, showName(""))
	require.Equal(t, `"\x1b[31m"`, showName("\x1b[31m"))
	require.Equal(t, strings.Repeat("x", 64)+"…", showName(strings.Repeat("x", 500)))
}
