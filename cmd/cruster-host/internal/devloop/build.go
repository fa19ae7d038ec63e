package devloop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// maxOutput bounds the kept output of a compiler. The first errors explain the others.
	maxOutput = 64 << 10
	// stopTimeout is how long a compiler may take to end once it was told to.
	stopTimeout = 5 * time.Second
)

// A BuildError is a build that failed.
type BuildError struct {
	// Output is the compiler's output.
	Output string
	// Cause is how it ended.
	Cause error
}

func (e *BuildError) Error() string { return "the build failed: " + e.Cause.Error() }
func (e *BuildError) Unwrap() error { return e.Cause }

// Build makes the module of a source, and writes it to the file out.
func Build(ctx context.Context, s Source, out string) error {
	switch s.Kind {
	case KindRust:
		return buildRust(ctx, s, out)
	case KindScript:
		_, err := run(ctx, s, nil, "./build.sh", out)
		return err
	default:
		// As the guides say, but without the state of version control and the path of the folder: with them the same
		// code would be another module after each commit, and in another clone. The examples are built so, too: Go
		// finds the standard library compiled.
		_, err := run(ctx, s, []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"},
			"go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, ".")
		return err
	}
}

// buildRust asks Cargo which file it has built: target folders and workspaces differ.
func buildRust(ctx context.Context, s Source, out string) error {
	stdout, err := run(
		ctx, s, nil, "cargo", "build", "--release", "--target", "wasm32-wasip1",
		"--message-format=json-render-diagnostics",
	)
	if err != nil {
		return err
	}
	path, err := builtModule(s.Folder, stdout)
	if err != nil {
		return &BuildError{Cause: err}
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return &BuildError{Cause: err}
	}
	return os.WriteFile(out, binary, 0o600)
}

// builtModule finds the module of the crate in a folder among the messages of Cargo.
func builtModule(folder string, messages []byte) (string, error) {
	manifest := filepath.Join(folder, "Cargo.toml")
	for line := range bytes.Lines(messages) {
		var m struct {
			Reason       string   `json:"reason"`
			ManifestPath string   `json:"manifest_path"`
			Filenames    []string `json:"filenames"`
		}
		if json.Unmarshal(line, &m) != nil || m.Reason != "compiler-artifact" || m.ManifestPath != manifest {
			continue
		}
		for _, name := range m.Filenames {
			if filepath.Ext(name) == ".wasm" {
				return name, nil
			}
		}
	}
	return "", errors.New(`cargo has built no module: Cargo.toml needs crate-type = ["cdylib"] under [lib]`)
}

// run runs a compiler in the folder of a source, and returns its standard output. If ctx is done,
// the compiler and its child processes are told to end.
func run(ctx context.Context, s Source, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = s.Folder, append(os.Environ(), env...)
	// A group of its own: compilers have children, which would go on. They get the signal after which they remove their
	// temporary files.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = stopTimeout
	var stdout bytes.Buffer
	var output head
	cmd.Stdout, cmd.Stderr = &stdout, &output
	if s.Kind != KindRust {
		cmd.Stdout = &output
	}
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("%s is not installed, or not in PATH: cruster-host doctor says how to install it", name)
	}
	return nil, &BuildError{Output: string(output.kept), Cause: err}
}

// A head keeps the first maxOutput bytes that are written to it.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxOutput-len(h.kept))]...)
	return len(p), nil
}
