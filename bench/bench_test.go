package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func testPlan(t *testing.T) *plan {
	t.Helper()
	dir := t.TempDir()
	return &plan{
		dir:      dir,
		out:      filepath.Join(dir, "out.jsonl"),
		progress: io.Discard,
		table:    &bytes.Buffer{},
		repeat:   1,
		sizes:    tinySizes(),
	}
}

// One iteration of every workload, in both languages and on both stores, yields its figures. How fast it was does not
// matter here; that results are right, the workloads check themselves.
func TestEveryWorkloadYieldsItsFigures(t *testing.T) {
	t.Parallel()
	for store, language := range map[string]string{sqlite: "go", postgres: "rust"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			p := testPlan(t)
			p.binary, p.cache, p.guests = harness.Binary(t), harness.CacheDir(t), guestsOf(t, language)
			p.languages, p.stores, p.workloads = []string{language}, []string{store}, workloads
			if store == postgres {
				p.postgres = pgtest.DSN(t)
			}
			require.NoError(t, p.run(t.Context()))
			require.ElementsMatch(t, workloadNames(), namesIn(t, p.out))

			page := filepath.Join(t.TempDir(), "page.md")
			require.NoError(t, writeReport(page, []string{p.out}))
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			require.Contains(t, string(text), "| throughput, steps/s |")
			require.Contains(t, string(text), "(benchmarks/out-w1-throughput.svg)")
		})
	}
}

// The protocol of adapters, with an adapter that needs nothing installed.
func TestAnAdapterIsMeasured(t *testing.T) {
	t.Parallel()
	p := testPlan(t)
	program := filepath.Join(t.TempDir(), "reference")
	// With these flags the standard library is compiled already: the product is built so.
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./reference")
	build.Dir, build.Env = filepath.Join(harness.Root(), "bench", "peers"), append(os.Environ(), "CGO_ENABLED=0")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)

	p.bed, err = newBed(p.dir, false, "")
	require.NoError(t, err)
	dir, _, err := p.bed.store(t.Context(), sqlite)
	require.NoError(t, err)
	a, err := openAdapter(t.Context(), program, dir, "")
	require.NoError(t, err)
	p.lines = io.Discard
	for _, w := range workloads {
		if len(w.peers) > 0 {
			m := &meter{plan: p, setup: setup{"reference", "go", "memory"}, target: a, workload: w}
			require.NoError(t, m.run(t.Context()))
		}
	}
	require.NotEmpty(t, p.figures)
	require.ErrorContains(t, a.start(t.Context(), operation{Kind: "Sequence", Key: "W1-0-1"}), "was started before")
	require.NoError(t, a.close())
	require.Error(t, a.start(t.Context(), operation{Kind: "Sequence", Key: "late"}))
	require.NoError(t, p.bed.close())
}

// guestsOf is a folder with the modules in one language.
func guestsOf(t *testing.T, language string) string {
	t.Helper()
	dir := t.TempDir()
	for name, folder := range map[string]string{"load": "bench/guests/load", "transfer": "modules/examples/transfer"} {
		if language == "rust" {
			name, folder = name+"-rust", folder+"/rust"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".wasm"), harness.Module(t, folder), 0o600))
	}
	return dir
}

// namesIn lists the workloads that a file has figures of.
func namesIn(t *testing.T, path string) []string {
	t.Helper()
	figures, err := figuresOf([]string{path})
	require.NoError(t, err)
	rows, _ := rowsOf(figures)
	var names []string
	for _, r := range rows {
		if len(names) == 0 || names[len(names)-1] != r.Workload {
			names = append(names, r.Workload)
		}
	}
	for _, f := range figures {
		require.NotZero(t, f.FsyncMicros)
		require.NotZero(t, f.Machine.Cores)
		require.NotEmpty(t, f.Version)
	}
	return names
}

func TestRatiosLookAtTheDirection(t *testing.T) {
	t.Parallel()
	ours, theirs, slow := setup{crusters, "go", sqlite}, setup{"dbos", "go", postgres}, setup{
		"restate", "go", "rocksdb",
	}
	value := func(metric string, higher bool, s setup, v float64) figure {
		return figure{Workload: "W1", Metric: metric, HigherIsBetter: higher, setup: s, Value: v}
	}
	rows, setups := rowsOf([]figure{
		value("rate", true, slow, 10), value("rate", true, theirs, 100), value("rate", true, ours, 200),
		value("rate", true, ours, 400),
		value("delay", false, theirs, 2), value("delay", false, ours, 4), value("delay", false, slow, 20),
	})
	require.Equal(t, []setup{ours, theirs, slow}, setups)
	ratios := ratiosOf(rows, setups)
	require.Len(t, ratios, 2)
	require.InDelta(t, 3.0, ratios[0].of[ours], 1e-9)
	require.InDelta(t, 0.5, ratios[1].of[ours], 1e-9)
	require.Equal(t, []setup{theirs, theirs}, []setup{ratios[0].best, ratios[1].best})
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0.00", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234.5: "1,234", 1234567: "1,234,567", -1234: "-1,234",
	} {
		require.Equal(t, want, number(v))
	}
	require.Equal(t, "a,b", strings.Join(list("a, b,"), ","))
	require.InDelta(t, 3.0, percentile([]float64{5, 1, 3, 2, 4}, 50), 1e-9)
}

func TestCircumstancesTellWhatOthersHad(t *testing.T) {
	t.Parallel()
	taken := func(stolen ...float64) string {
		var all []figure
		for _, s := range stolen {
			all = append(all, figure{Machine: machine{Cores: 2}, cost: cost{Seconds: 5, Stolen: s}})
		}
		return circumstances(all)
	}
	require.NotContains(t, taken(0, 0.01), "Other machines")
	require.Contains(
		t, taken(0, 1, 3), "had 10.0 % of its processors' time in the median measurement, and up to 30.0 %.",
	)
	require.Zero(t, figure{cost: cost{Stolen: 1}}.stolenShare(), "nothing was measured")
}
