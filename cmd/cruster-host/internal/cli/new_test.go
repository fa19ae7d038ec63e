package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/cmd/cruster-host/internal/scaffold"
)

// It changes the current folder, so it is alone.
func TestNewRefusesToOverwrite(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	code, stdout, stderr := invoke(t, "new", "orders", "--lang", "rust", "-o", "json")
	require.Zero(t, code, stderr)
	var made scaffold.Project
	require.NoError(t, json.Unmarshal([]byte(stdout), &made))
	require.Equal(t, "rust", made.Language)
	require.Contains(t, made.Files, "Cargo.toml")
	before, err := os.ReadFile(filepath.Join("orders", "Cargo.toml"))
	require.NoError(t, err)

	code, stdout, stderr = invoke(t, "new", "orders", "--lang", "go")
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "exists: nothing was written")
	after, err := os.ReadFile(filepath.Join("orders", "Cargo.toml"))
	require.NoError(t, err)
	require.Equal(t, before, after)

	for _, args := range [][]string{
		{"new"},
		{"new", "x"},
		{"new", "x", "--lang", "cobol"},
		{"new", "x", "y", "--lang", "go"},
		{"new", "../x", "--lang", "go"},
	} {
		code, _, _ = invoke(t, args...)
		require.Equal(t, exitUsage, code, "%v", args)
	}
	require.NoFileExists(t, filepath.Join(dir, "x"))
}

// It changes the current folder, so it is alone.
func TestNewSaysWhatItWrote(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := invoke(t, "new", "orders", "--lang", "go")
	require.Zero(t, code, stderr)
	require.Equal(t, `project:   orders
language:  go
sdk:       0.1.0, which is not released yet: to build the project now, write it with --sdk and a clone of the source
files:     README.md
           .gitignore
           go.mod
           main.go
           main_test.go
next:      cd orders && cat README.md
`, stdout)
}
