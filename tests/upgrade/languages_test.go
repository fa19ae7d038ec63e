package upgrade_test

import (
	"slices"
	"testing"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// guest is the workflow of tests/guests/change in a language.
type guest struct {
	language string
	// versions that there are besides "base".
	versions []string
}

var (
	inGo   = guest{"go", []string{"arguments", "buggy", "inserted", "removed", "renamed", "reordered"}}
	inRust = guest{"rust", []string{"inserted", "removed"}}
)

// folder of a version.
func (g guest) folder(version string) string {
	switch {
	case g.language == "go":
		return "tests/guests/change/" + version
	case version == "base":
		return "tests/guests/change/rust"
	default:
		return "tests/guests/change-" + version + "/rust"
	}
}

func (g guest) push(t *testing.T, e *host.Engine, version string) {
	t.Helper()
	harness.Push(t, e, "change", g.folder(version))
}

// each runs a test on every store, and in every language that has the versions; in full in each language on each
// store.
func each(t *testing.T, test func(t *testing.T, store journal.Store, g guest), versions ...string) {
	guests := slices.DeleteFunc([]guest{inGo, inRust}, func(g guest) bool {
		return slices.ContainsFunc(versions, func(v string) bool { return !slices.Contains(g.versions, v) })
	})
	for _, c := range extenttest.Each(t, len(guests), len(harness.StoreKinds)) {
		g, kind := guests[c[0]], harness.StoreKinds[c[1]]
		t.Run(g.language+"/"+kind, func(t *testing.T) {
			t.Parallel()
			test(t, harness.Store(t, kind), g)
		})
	}
}
