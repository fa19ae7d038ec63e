package devloop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// script is a source that a script builds.
func script(t *testing.T, lines string) Source {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write(t, folder, map[string]string{"build.sh": "#!/bin/sh\nset -eu\n" + lines})
	return Source{Folder: folder, Kind: KindScript, Name: "m"}
}

func TestBuildByScript(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "m.wasm")
	require.NoError(t, Build(t.Context(), script(t, `echo module >"$1"`), out))
	made, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "module\n", string(made))

	err = Build(t.Context(), script(t, "echo one; echo two >&2; exit 3"), out)
	var failed *BuildError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "one\ntwo\n", failed.Output)
	require.EqualError(t, err, "the build failed: exit status 3")

	err = Build(t.Context(), script(t, "yes | head -c 1000000; exit 1"), out)
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.Output, maxOutput)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Build(ctx, script(t, "exit 1"), out), context.Canceled)
}

func TestBuildGoShowsTheCompilersErrors(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, map[string]string{
		"go.mod": "module example.com/m\n", "main.go": "package main\n\nfunc main() { nothing() }\n",
	})
	err := Build(t.Context(), Source{Folder: folder, Kind: KindGo, Name: "m"}, filepath.Join(t.TempDir(), "m.wasm"))
	var failed *BuildError
	require.ErrorAs(t, err, &failed)
	require.Contains(t, failed.Output, "./main.go:3:15: undefined: nothing")
}

func TestBuiltModule(t *testing.T) {
	t.Parallel()
	messages := strings.Join([]string{
		`{"reason":"compiler-artifact","manifest_path":"/dep/Cargo.toml","filenames":["/t/dep.wasm"]}`,
		`not JSON`,
		`{"reason":"build-script-executed","manifest_path":"/m/Cargo.toml"}`,
		`{"reason":"compiler-artifact","manifest_path":"/m/Cargo.toml","filenames":["/t/libm.rlib","/t/m.wasm"]}`,
	}, "\n")
	path, err := builtModule("/m", []byte(messages))
	require.NoError(t, err)
	require.Equal(t, "/t/m.wasm", path)
	_, err = builtModule("/other", []byte(messages))
	require.ErrorContains(t, err, `crate-type = ["cdylib"]`)
}
