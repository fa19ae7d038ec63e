package harness

import (
	"testing"

	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/journal"
)

// Languages are the languages in which many guests are written, each with the end of its folder
// below the Go guest's.
var Languages = []struct{ Name, Below string }{{"go", ""}, {"rust", "/rust"}}

// EachSetting runs a test with guests in each language and on each store, and in full with each
// language on each store. The folder of a guest in Go with below at its end is the language's.
func EachSetting(t *testing.T, test func(t *testing.T, below string, store journal.Store)) {
	t.Helper()
	for _, c := range extenttest.Each(t, len(Languages), len(StoreKinds)) {
		language, kind := Languages[c[0]], StoreKinds[c[1]]
		t.Run(language.Name+"/"+kind, func(t *testing.T) {
			t.Parallel()
			test(t, language.Below, Store(t, kind))
		})
	}
}
