package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// language is a language in which the workflows of the table are written.
type language struct {
	name string
	// pkg is the folder of the module.
	pkg string
	// least is set for a module that has only some of the workflows: it is the least number of cases that must run. A
	// module with zero must have all workflows.
	least int
}

// languages are all languages; they must behave the same.
var languages = []language{
	{name: "go", pkg: "tests/guests/conformance"},
	{name: "rust", pkg: "tests/guests/conformance/rust"},
	{name: "c", pkg: "tests/thirdlanguage/conformance", least: 100},
}

// wholeLanguages are the languages whose modules have all workflows.
func wholeLanguages() []language {
	return slices.DeleteFunc(slices.Clone(languages), func(l language) bool { return l.least > 0 })
}

// eachSetting runs a test in each language whose module has all workflows, and on each store; in full in each language
// on each store.
func eachSetting(t *testing.T, test func(t *testing.T, l language, kind string)) {
	t.Helper()
	languages := wholeLanguages()
	for _, c := range extenttest.Each(t, len(languages), len(harness.StoreKinds)) {
		l, kind := languages[c[0]], harness.StoreKinds[c[1]]
		t.Run(l.name+"-"+kind, func(t *testing.T) {
			t.Parallel()
			test(t, l, kind)
		})
	}
}

// has tells whether the module of a language must pass a case.
func (l language) has(c *testCase, manifest *abi.Manifest) bool {
	if c.Only != "" && c.Only != l.name {
		return false
	}
	if l.least == 0 {
		return true
	}
	return !slices.ContainsFunc(append([]string{c.Workflow}, c.Needs...), func(name string) bool {
		return !slices.ContainsFunc(manifest.Workflows, func(w abi.WorkflowInfo) bool { return w.Name == name })
	})
}

// testBundle is one engine with the module deployed; all cases of one variant share it.
type testBundle struct {
	language string
	engine   *host.Engine
	store    journal.Store
	logs     *logKeeper
	outside  *outside
	// variant is the unique name of the bundle.
	variant  string
	manifest *abi.Manifest
}

// setup starts an engine over a fresh store and deploys the module of a language, with a grant for the world outside.
func setup(t *testing.T, l language, kind string, world *outside, options ...func(*host.Config)) *testBundle {
	t.Helper()
	b := &testBundle{
		language: l.name, store: harness.Store(t, kind), logs: &logKeeper{}, outside: world, variant: t.Name(),
	}
	options = append([]func(*host.Config){func(c *host.Config) { c.Logger = b.logs.logger() }}, options...)
	b.engine = harness.Engine(t, b.store, options...)
	b.manifest = deploy(t, b.engine, l, world)
	return b
}

func deploy(t *testing.T, e *host.Engine, l language, world *outside) *abi.Manifest {
	t.Helper()
	harness.Push(t, e, "conformance", l.pkg, func(r *host.PushRequest) {
		r.Config = map[string]string{"greeting": "hello", "empty": ""}
		if world != nil {
			r.AllowHTTP = []string{strings.TrimPrefix(world.url, "http://")}
			// In the configuration, not in a request: the value differs from variant to variant, and requests must not.
			r.Config["outside"], r.Config["variant"] = world.url, t.Name()
		}
	})
	deployment, err := e.Deployments().Describe(t.Context(), "", "conformance")
	require.NoError(t, err)
	return deployment.Manifest
}
