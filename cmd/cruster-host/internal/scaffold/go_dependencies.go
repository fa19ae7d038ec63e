package scaffold

import (
	"os"
	"path/filepath"
	"regexp"

	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// A goModule is a dependency of a project in Go beside the SDK itself.
type goModule struct {
	Path, Version string
}

// The dependencies of the SDK and of a project's tests; `go mod tidy` would find the same, if it
// could ask the network.
var (
	goTestModule      = "modernc.org/sqlite"
	goIndirectModules = []string{
		"github.com/dustin/go-humanize",
		"github.com/google/uuid",
		"github.com/mattn/go-isatty",
		"github.com/ncruces/go-strftime",
		"github.com/remyoudompheng/bigfft",
		"github.com/vmihailenco/msgpack/v5",
		"github.com/vmihailenco/tagparser/v2",
		"golang.org/x/sys",
		"modernc.org/libc",
		"modernc.org/mathutil",
		"modernc.org/memory",
	}
)

// goDependencies are the versions and checksums of a clone. A project that has them is complete:
// the dependencies of the clone build it as well, and nothing is fetched from the network.
type goDependencies struct {
	Test     goModule
	Indirect []goModule
	sums     []byte
}

// readGoDependencies reads them from the clone at root.
func readGoDependencies(root string) (*goDependencies, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, usage.Inputf("--sdk: %w", err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return nil, usage.Inputf("--sdk: %w", err)
	}
	module := func(path string) (goModule, error) {
		found := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(path) + ` (v[0-9A-Za-z.+-]+)(?:\s|$)`).FindSubmatch(
			mod,
		)
		if found == nil {
			return goModule{}, usage.Inputf(
				"--sdk: %s is not a clone of this version of Cruster: its go.mod does not require %s", root, path,
			)
		}
		return goModule{path, string(found[1])}, nil
	}
	d := &goDependencies{sums: sums}
	if d.Test, err = module(goTestModule); err != nil {
		return nil, err
	}
	for _, path := range goIndirectModules {
		m, err := module(path)
		if err != nil {
			return nil, err
		}
		d.Indirect = append(d.Indirect, m)
	}
	return d, nil
}
