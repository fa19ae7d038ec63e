package serve

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// CompileCommand is the command of this program that compiles a module into a cache.
const CompileCommand = "compile-module"

// compileInSubprocess has this program compile modules into a cache, as a process of its own; nil if
// there is no cache, or the program cannot be found.
func compileInSubprocess(dir string) func(ctx context.Context, content []byte) error {
	program, err := os.Executable()
	if dir == "" || err != nil {
		return nil
	}
	return func(ctx context.Context, content []byte) error {
		cmd := exec.CommandContext(ctx, program, CompileCommand, dir)
		cmd.Stdin = bytes.NewReader(content)
		// It needs no settings of the host, and these may hold secrets.
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CRUSTER_") })
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w: %.500s", CompileCommand, err, said.Bytes())
		}
		return nil
	}
}
