package cli

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// screen is a terminal.
type screen struct {
	fs.FileInfo
	strings.Builder
}

func (s *screen) Stat() (fs.FileInfo, error) { return s, nil }
func (s *screen) Mode() fs.FileMode          { return fs.ModeDevice | fs.ModeCharDevice }

func TestProgressIsForTerminals(t *testing.T) {
	t.Parallel()
	watch := func(p *progress, total uint32) {
		for done := range uint32(2 * progressEvery) {
			p.at(done+1, total)
		}
		p.end()
	}
	var file strings.Builder
	watch(newProgress(&file, "checked"), 20)
	require.Empty(t, file.String())
	terminal := &screen{}
	watch(newProgress(terminal, "checked"), 20)
	require.Equal(t, "\rchecked 1 of 20\x1b[K\rchecked 11 of 20\x1b[K\r\x1b[K", terminal.String())
	terminal = &screen{}
	watch(newProgress(terminal, "moved"), 0)
	require.Equal(t, "\rmoved 1\x1b[K\rmoved 11\x1b[K\r\x1b[K", terminal.String())
}
