package wasm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLineWriter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	for name, c := range map[string]struct{ writes, lines []string }{
		"lines":               {[]string{"one\ntwo\n"}, []string{"one", "two"}},
		"a line in parts":     {[]string{"on", "e\ntw", "o"}, []string{"one", "two"}},
		"empty lines":         {[]string{"\n\n"}, []string{"", ""}},
		"a long line":         {[]string{long + "y\n"}, []string{long, "y"}},
		"exactly the longest": {[]string{long, "\n"}, []string{long, ""}},
		"nothing":             {[]string{""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []string
			w := lineWriter{emit: func(line []byte) { lines = append(lines, string(line)) }, check: func() {}}
			for _, text := range c.writes {
				n, err := w.Write([]byte(text))
				require.NoError(t, err)
				require.Equal(t, len(text), n)
			}
			w.flush()
			require.Equal(t, c.lines, lines)
		})
	}
}

func TestLineWriterOfAStoppedTurn(t *testing.T) {
	t.Parallel()
	w := lineWriter{emit: func([]byte) { t.Error("nothing is written") }, check: func() { panic(errStopped) }}
	require.PanicsWithError(t, errStopped.Error(), func() { _, _ = w.Write([]byte("line\n")) })
}
