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
	require.Equal(t, "\rchecked [#...................] 1 of 20\x1b[K\rchecked [###########.........] 11 of 20\x1b[K\r\x1b[K", terminal.String())
	terminal = &screen{}
	watch(newProgress(terminal, "moved"), 0)
	require.Equal(t, "\rmoved 1\x1b[K\rmoved 11\x1b[K\r\x1b[K", terminal.String())
}

func TestProgressOfAnUpload(t *testing.T) {
	t.Parallel()
	upload := func(p *progress) {
		sent := p.sent(4_000_000)
		sent(1_000_000)
		sent(4_000_000)
		p.end()
	}
	var file strings.Builder
	upload(newProgress(&file, ""))
	require.Empty(t, file.String())
	terminal := &screen{}
	upload(newProgress(terminal, ""))
	require.Equal(t, "\rpushing [#####...............] 1.0 MB of 4.0 MB\x1b[K\rpushed 4.0 MB; the host compiles and checks it\x1b[K\r\x1b[K", terminal.String())
}
