package scaffold

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestRender shows the files of projects for several requests. The commands:
//
//	files lang=go|rust [sdk=PATH]            the names of the files
//	file lang=go|rust name=FILE [sdk=PATH]   one file
func TestRender(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/render", func(t *testing.T, d *datadriven.TestData) string {
		p := &Project{Name: "hello-world", Version: "1.2.3"}
		d.ScanArgs(t, "lang", &p.Language)
		d.MaybeScanArgs(t, "sdk", &p.SDK)
		if p.SDK != "" && p.Language == "go" {
			p.GoDependencies = &goDependencies{
				Test:     goModule{"example.com/test", "v1.0.0"},
				Indirect: []goModule{{"example.com/a", "v1.1.0"}, {"example.com/b", "v1.2.0"}},
				sums:     []byte("sums\n"),
			}
		}
		files, err := p.Render()
		require.NoError(t, err)
		switch d.Cmd {
		case "files":
			var names strings.Builder
			for _, f := range files {
				fmt.Fprintln(&names, f.Name)
			}
			return names.String()
		case "file":
			var name string
			d.ScanArgs(t, "name", &name)
			for _, f := range files {
				if f.Name == name {
					return string(f.Content)
				}
			}
			return "there is no such file"
		default:
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		}
	})
}
