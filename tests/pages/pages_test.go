package pages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/addrtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/paytest"
	"github.com/cruster/cruster/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// modules are the outputs of a reader's `make build`, and other files that pages speak of.
var modules = map[string]string{
	"approval":    "modules/examples/approval",
	"bank":        "modules/examples/bank",
	"billing":     "modules/examples/billing",
	"cart":        "modules/examples/cart",
	"base":        "tests/guests/change/base",
	"buggy":       "tests/guests/change/buggy",
	"orders":      "modules/examples/orders",
	"orders-rust": "modules/examples/orders/rust",
	"reports":     "tests/guests/reports",
	"shop":        "tests/guests/tour",
}

func TestPages(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	grpcurl, err := harness.Tool("grpcurl")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(grpcurl, filepath.Join(tools, "grpcurl")))
	require.NoError(t, os.Symlink(harness.Binary(t), filepath.Join(tools, "cruster-host")))

	all, err := filepath.Glob(filepath.Join(harness.Root(), "docs", "*.md"))
	require.NoError(t, err)
	ran := 0
	for _, file := range append(all, filepath.Join(harness.Root(), "README.md")) {
		p := readPage(t, file)
		if p.count("sh") == 0 {
			continue
		}
		ran++
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.run(t, tools)
		})
	}
	require.Greater(t, ran, 10)
}

// A page has blocks of code, by language, in their order.
type page struct {
	name   string
	blocks map[string][]string
}

func (p *page) count(language string) int { return len(p.blocks[language]) }

func readPage(t *testing.T, file string) *page {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	p := &page{name: strings.TrimSuffix(filepath.Base(file), ".md"), blocks: map[string][]string{}}
	var language, indent string
	var block []string
	inside := false
	for line := range strings.Lines(string(text)) {
		before, fence, found := strings.Cut(line, "```")
		switch {
		case found && strings.TrimSpace(before) == "" && !inside:
			inside, indent, language, block = true, before, strings.TrimSpace(fence), nil
			require.NotEmpty(t, language, "%s: a block says what it is: %s", file, line)
		case found && strings.TrimSpace(before) == "":
			inside = false
			p.blocks[language] = append(p.blocks[language], strings.Join(block, ""))
		case inside:
			block = append(block, strings.TrimPrefix(line, indent))
		}
	}
	require.False(t, inside, "%s: the last block has no end", file)
	return p
}

// run runs the script of the page, and checks that it has run every block.
func (p *page) run(t *testing.T, tools string) {
	script := filepath.Join("testdata", p.name+".bash")
	require.FileExists(t, script, "the page has commands that no test runs")
	script, err := filepath.Abs(script)
	require.NoError(t, err)
	prelude, err := filepath.Abs("testdata/prelude.bash")
	require.NoError(t, err)

	blocks := t.TempDir()
	for language, all := range p.blocks {
		for i, block := range all {
			require.NoError(
				t, os.WriteFile(filepath.Join(blocks, fmt.Sprintf("%d.%s", i+1, language)), []byte(block), 0o600),
			)
		}
	}
	clone := clone(t, tools)
	schema, database := pgtest.Schema(t), pgtest.DSN(t)
	if p.name == "operations" { // it backs up the whole database
		database = pgtest.Database(t)
	}
	grpc, http := addrtest.Reserve(t), addrtest.Reserve(t)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `source "$1"; source "$2"`, "bash", prelude, script)
	cmd.Dir = clone
	cmd.Env = append(os.Environ(),
		"BLOCKS="+blocks, "ROOT="+harness.Root(), "POSTGRES="+database, "CRUSTER_SCHEMA="+schema,
		"CRUSTER_ADDR="+grpc, "CRUSTER_GRPC_ADDR="+grpc, "CRUSTER_HTTP_ADDR="+http,
		"PAYMENTS="+paytest.Start(t).URL,
		// What readers build is compiled already: modules and programs of other tests are built so.
		"GOFLAGS=-trimpath", "CGO_ENABLED=0",
		"CRUSTER_CACHE_DIR="+harness.CacheDir(t), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	// With the test everything ends that the page has started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(blocks, "host.log"))
		require.NoError(t, err, "%s\nthe host's log:\n%s", out, log)
	}
	ran, err := os.ReadFile(filepath.Join(blocks, "ran"))
	require.NoError(t, err)
	for i := range p.count("sh") {
		require.Contains(
			t, strings.Fields(string(ran)), fmt.Sprint(i+1), "a block that no test runs:\n%s", p.blocks["sh"][i],
		)
	}
}

// clone is a folder that is as a reader's clone behind `make build`.
func clone(t *testing.T, tools string) string {
	dir := filepath.Join(t.TempDir(), "cruster")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin", "modules"), 0o700))
	// `go mod tidy` of a program asks for the imports of the client's tests, which must need no host.
	for _, shared := range []string{"abi", "api", "clients/go", "go.mod", "go.sum", "guest-sdk", "internal"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, shared)), 0o700))
		require.NoError(t, os.Symlink(filepath.Join(harness.Root(), shared), filepath.Join(dir, shared)))
	}
	require.NoError(t, os.Symlink(filepath.Join(tools, "cruster-host"), filepath.Join(dir, "bin", "cruster-host")))
	for name, folder := range modules {
		require.NoError(
			t, os.WriteFile(filepath.Join(dir, "bin", "modules", name+".wasm"), harness.Module(t, folder), 0o600),
		)
	}
	return dir
}
