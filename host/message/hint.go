package message

import (
	"fmt"
	"strings"
)

// shellSafe are characters that form one word in every shell.
const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.:@-"

// WaitsFor is the hint where to see why an execution does not answer. Keys may be anything: a key
// that needs shell quoting has no place in a command that people copy.
func WaitsFor(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(shellSafe, r) }) {
		name = "EXECUTION"
	}
	return fmt.Sprintf("'cruster-host workflow describe %s' shows what the execution waits for.", name)
}
