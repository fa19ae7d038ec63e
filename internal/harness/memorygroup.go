package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

var memoryGroups atomic.Int64

// MemoryGroup makes a control group below the test's own one, whose processes may have that many bytes together: beyond
// it the kernel kills them. It is removed behind the test, so it has to be made before the processes in it. It is empty
// where the test may not make one; there the peak of a process has to be measured (see [Process.PeakMemory]).
func MemoryGroup(t testing.TB, bytes int64) string {
	t.Helper()
	own, limit := ownMemoryGroup()
	if own == "" {
		return ""
	}
	group := filepath.Join(own, fmt.Sprintf("cruster-test-%d-%d", os.Getpid(), memoryGroups.Add(1)))
	if os.Mkdir(group, 0o755) != nil {
		return ""
	}
	t.Cleanup(func() { require.NoError(t, os.Remove(group)) })
	if os.WriteFile(filepath.Join(group, limit), []byte(strconv.FormatInt(bytes, 10)), 0o644) != nil {
		return ""
	}
	return group
}

// ownMemoryGroup is the folder of the test's own group, and the file of a group's limit.
func ownMemoryGroup() (folder, limit string) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[1] == "memory":
			return filepath.Join("/sys/fs/cgroup/memory", fields[2]), "memory.limit_in_bytes"
		case fields[0] == "0" && folder == "":
			folder, limit = filepath.Join("/sys/fs/cgroup", fields[2]), "memory.max"
		}
	}
	return folder, limit
}

// Confine has the next starts of the host run in a group of [MemoryGroup]. An empty name changes nothing.
func (p *Process) Confine(group string) { p.group = group }

// PeakMemory is how many bytes of memory the process had at most.
func (p *Process) PeakMemory() int64 {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	require.NoError(p.t, err)
	_, after, found := strings.Cut(string(status), "VmHWM:")
	require.True(p.t, found)
	var kib int64
	_, err = fmt.Sscan(after, &kib)
	require.NoError(p.t, err)
	return kib << 10
}
