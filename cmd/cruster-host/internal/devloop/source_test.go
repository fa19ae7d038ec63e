package devloop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// write makes files below a folder, with the folders that they are in.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	}
}

func TestParseSources(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write(t, top, map[string]string{
		"orders/main.go":      "",
		"pay/Cargo.toml":      "",
		"pay/build.rs":        "",
		"own/build.sh":        "",
		"own/main.go":         "",
		"docs/README.md":      "",
		"more/orders/main.go": "",
		"file":                "",
	})
	at := func(name string) string { return filepath.Join(top, name) }

	all, err := ParseSources([]string{at("orders"), "bills=" + at("pay"), at("own") + "/"})
	require.NoError(t, err)
	require.Equal(t, []Source{
		{Folder: at("orders"), Kind: KindGo, Name: "orders"},
		{Folder: at("pay"), Kind: KindRust, Name: "bills"},
		{Folder: at("own"), Kind: KindScript, Name: "own"},
	}, all)

	for want, texts := range map[string][]string{
		"it has no Go files, no Cargo.toml and no build.sh": {at("docs")},
		"it is not a folder":                                     {at("file")},
		"no such file or directory":                              {at("none")},
		"cannot be the name of a deployment":                     {"a\nb=" + at("orders")},
		`there are two folders for the deployment "orders"`:      {at("orders"), at("more/orders")},
		`"/" cannot be the name of a deployment: write NAME=DIR`: {"/"},
	} {
		_, err := ParseSources(texts)
		require.ErrorContains(t, err, want)
	}
}
