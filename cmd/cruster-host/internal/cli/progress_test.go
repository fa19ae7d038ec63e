package cli

import (
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	require.Equal(
		t, "\rchecked [#...................] 1 of 20\x1b[K\rchecked [###########.........] 11 of 20\x1b[K\r\x1b[K",
		terminal.String(),
	)
	terminal = &screen{}
	watch(newProgress(terminal, "moved"), 0)
	require.Equal(t, "\rmoved 1\x1b[K\rmoved 11\x1b[K\r\x1b[K", terminal.String())
}

func TestProgressOfAnUpload(t *testing.T) {
	t.Parallel()
	upload := func(p *progress, then func()) {
		sent := p.sent(4_000_000)
		sent(1_000_000)
		sent(4_000_000)
		sent(4_000_000)
		time.Sleep(2500 * time.Millisecond) // virtual: so long the host takes
		then()
		p.end()
	}
	const shown = "\rpushing [#####...............] 1.0 MB of 4.0 MB\x1b[K" +
		"\rpushed 4.0 MB; the host compiles and checks it\x1b[K" +
		"\rpushed 4.0 MB; the host compiles and checks it, for 1 s\x1b[K" +
		"\rpushed 4.0 MB; the host compiles and checks it, for 2 s\x1b[K"
	synctest.Test(t, func(t *testing.T) {
		var file strings.Builder
		upload(newProgress(&file, ""), func() {})
		require.Empty(t, file.String())
		terminal := &screen{}
		upload(newProgress(terminal, ""), func() {})
		require.Equal(t, shown+"\r\x1b[K", terminal.String())
		terminal = &screen{}
		line := newProgress(terminal, "checked")
		upload(line, func() { line.at(1, 4) })
		require.Equal(t, shown+"\rchecked [#####...............] 1 of 4\x1b[K\r\x1b[K", terminal.String())
	})
}
