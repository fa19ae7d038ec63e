package budget

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMachineMemory(t *testing.T) {
	t.Parallel()
	const (
		meminfo = "/proc/meminfo"
		second  = "/sys/fs/cgroup/memory.max"
		first   = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known":        {nil, unknownMachine},
		"the machine":             {map[string]string{meminfo: "MemFree: 1 kB\nMemTotal:   2048 kB\n"}, 2048 << 10},
		"a group with a limit":    {map[string]string{meminfo: "MemTotal: 2048 kB\n", second: "1048576\n"}, 1 << 20},
		"a group without one":     {map[string]string{meminfo: "MemTotal: 2048 kB\n", second: "max\n"}, 2048 << 10},
		"a group of the old kind": {map[string]string{meminfo: "MemTotal: 2048 kB\n", first: "1048576\n"}, 1 << 20},
		"a limit above it":        {map[string]string{meminfo: "MemTotal: 2048 kB\n", first: "9223372036854771712\n"}, 2048 << 10},
		"a file of another form":  {map[string]string{meminfo: "MemTotal: lots\n", second: "-1"}, unknownMachine},
	} {
		got := machineMemory(func(path string) ([]byte, error) {
			text, ok := c.files[path]
			if !ok {
				return nil, os.ErrNotExist
			}
			return []byte(text), nil
		})
		require.Equal(t, c.want, got, name)
	}
	require.Positive(t, OfMachine())
}
