package residency

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestVictims reads testdata/victims. The input of a case is the warm instances,
// `NAME used=SECOND`, the one used longest ago first.
func TestVictims(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/victims", func(t *testing.T, d *datadriven.TestData) string {
		var residents []resident
		for line := range strings.Lines(d.Input) {
			var name string
			var used int64
			_, err := fmt.Sscanf(line, "%s used=%d", &name, &used)
			require.NoError(t, err, "%q", line)
			residents = append(residents, resident{idOf(name), time.Unix(used, 0)})
		}
		var victims []journal.ID
		switch d.Cmd {
		case "surplus":
			var limit int
			var added string
			d.ScanArgs(t, "limit", &limit)
			d.ScanArgs(t, "added", &added)
			victims = surplus(slices.Values(residents), len(residents), limit, idOf(added))
		case "idle":
			var since int64
			d.ScanArgs(t, "since", &since)
			victims = idle(slices.Values(residents), time.Unix(since, 0))
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
		}
		if len(victims) == 0 {
			return "none\n"
		}
		var out strings.Builder
		for _, id := range victims {
			fmt.Fprintln(&out, strings.TrimRight(string(id[:]), "\x00"))
		}
		return out.String()
	})
}

func idOf(name string) (id journal.ID) {
	copy(id[:], name)
	return id
}
