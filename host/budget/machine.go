package budget

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// unknownMachine is the assumed memory of a machine that does not tell its own.
const unknownMachine = 4 << 30

// OfMachine is the budget of a host that is told none: half of the memory that this process may have. The other half is
// for memory that is not admitted by bytes: the store's caches, connections, and the garbage of the host itself.
func OfMachine() int64 { return machineMemory(os.DirFS("/")) / 2 }

// machineMemory is the least of the machine's memory and the limits of the control groups that the process is in.
func machineMemory(root fs.FS) int64 {
	least := int64(unknownMachine)
	if total, ok := parseMeminfo(root); ok {
		least = total
	}
	for _, limit := range groupLimits(root) {
		least = min(least, limit)
	}
	return least
}

// parseMeminfo finds the line "MemTotal:  16384 kB".
func parseMeminfo(root fs.FS) (int64, bool) {
	text, err := fs.ReadFile(root, "proc/meminfo")
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
