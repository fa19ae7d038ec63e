package newproject

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
)

func TestGoProject(t *testing.T) {
	t.Parallel()
	// The dependencies of the SDK are on this machine. Nothing else is asked for: without -mod=mod Go takes no module
	// and no checksum that the project does not name. With -trimpath the standard library is compiled already: guests
	// of other tests are built so.
	testProject(t, "go", 3, "GOFLAGS=-trimpath", "GOPROXY=off")
}

func TestRustProject(t *testing.T) {
	t.Parallel()
	shell, name, commands := testProject(t, "rust", 3, harness.RustProject()...)

	// The profile keeps the names of functions: the message about an endless turn has them.
	shell.append("src/lib.rs", `
fn endless(mut n: i64) -> i64 {
    let mut seen = std::collections::BTreeMap::new();
    while n != 0 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        *seen.entry(n).or_insert(0) += 1;
    }
    seen.len() as i64
}
`)
	shell.run(`sed -i 's/^        let visits = /        if visit.name == "endless" { endless(7); }\n&/' src/lib.rs`)
	shell.run(commands[1])
	shell.run("cruster-host module push target/wasm32-wasip1/release/hello_rust.wasm --name " + name)
	says := shell.run("! cruster-host workflow execute " + name + `/Greet --input '{"id":"3","name":"endless"}' 2>&1`)
	require.Regexp(t, `\(in hello_rust::endless, task 0, after its start at src/lib\.rs:\d+\)`, says)
}

// testProject makes a project that takes the SDK from this tree, and runs all commands of its README.
func testProject(t *testing.T, language string, blocks int, env ...string) (at *shell, name string, commands []string) {
	host := harness.NewProcess(t, "sqlite:"+t.TempDir(), "--turn-fuel", "100000000")
	host.Start()
	binary := harness.Binary(t)
	shell := &shell{
		t:   t,
		dir: t.TempDir(),
		env: append(append(os.Environ(), env...),
			"CRUSTER_ADDR="+host.GRPC, "CRUSTER_OUTPUT=jsonl",
			"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
		),
	}
	name = "hello-" + language
	shell.run("cruster-host new " + name + " --lang " + language + " --sdk '" + harness.Root() + "'")

	shell.dir = filepath.Join(shell.dir, name)
	readme, err := os.ReadFile(filepath.Join(shell.dir, "README.md"))
	require.NoError(t, err)
	commands = shellBlocks(string(readme))
	require.Len(t, commands, blocks, "the README has other commands than this test knows of")
	var last string
	for _, block := range commands {
		last = shell.run(block)
	}
	require.Contains(t, last, `"text":"Hello, Ada!"`)
	require.Contains(t, last, `"visits":1`)

	execute := "cruster-host workflow execute " + name + "/Greet --input "
	require.Contains(t, shell.run(execute+`'{"id":"1","name":"Ada"}'`), `"visits":1`, "the same visit again")
	require.Contains(t, shell.run(execute+`'{"id":"2","name":"Ada"}'`), `"visits":2`)
	return shell, name, commands
}

// shellBlocks are the blocks of a page that a reader pastes into the shell.
func shellBlocks(page string) []string {
	var blocks []string
	for _, part := range strings.Split(page, "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block)
	}
	return blocks
}

// A shell runs commands in a folder; each must succeed.
type shell struct {
	t   *testing.T
	dir string
	env []string
}

// run returns the standard output of the commands.
func (s *shell) run(commands string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "bash", "-euc", commands)
	cmd.Dir, cmd.Env = s.dir, s.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	require.NoError(s.t, err, "%s\n%s%s", commands, stdout, &stderr)
	return string(stdout)
}

// append adds to a file.
func (s *shell) append(file, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, file)
	content, err := os.ReadFile(path)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(path, append(content, text...), 0o600))
}
