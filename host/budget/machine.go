package budget

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// unknownMachine is what a machine is taken to have that does not tell.
const unknownMachine = 4 << 30

// OfMachine is the budget of a host that is told none: half of the memory that this
// process may have. The other half is for what is not admitted by bytes: the store's
// caches, connections, and the garbage of the host itself.
func OfMachine() int64 { return machineMemory(os.ReadFile) / 2 }

// machineMemory is the least of what the machine has and what its control groups allow.
func machineMemory(read func(path string) ([]byte, error)) int64 {
	least := int64(unknownMachine)
	if total, ok := parseMeminfo(read); ok {
		least = total
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := read(path)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			least = min(least, limit)
		}
	}
	return least
}

// parseMeminfo finds the line "MemTotal:  16384 kB".
func parseMeminfo(read func(path string) ([]byte, error)) (int64, bool) {
	text, err := read("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			return kb << 10, err == nil && kb > 0
		}
	}
	return 0, false
}
