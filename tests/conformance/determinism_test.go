package conformance

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// furtherChecks are checks that the table cannot express, by the name of the case.
var furtherChecks = map[string]func(t *testing.T, row *journal.Execution){
	"chance": func(t *testing.T, row *journal.Execution) {
		drawn := harness.Decode[[]string](t, row.Value)
		require.Len(t, drawn, 5*6)
		uuids := []string{drawn[0], drawn[6], drawn[12], drawn[18], drawn[24]}
		slices.Sort(uuids)
		require.Len(t, slices.Compact(uuids), 5, "a UUID occurs twice")
	},
}

// TestChanceDiffers shows that two executions draw different random values.
func TestChanceDiffers(t *testing.T) {
	t.Parallel()
	for _, l := range wholeLanguages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, l, "sqlite", nil)
			one := harness.Execute[[]string](t, b.engine, "conformance/Chance", 1)
			two := harness.Execute[[]string](t, b.engine, "conformance/Chance", 2)
			for i := range 5 {
				require.NotEqual(t, one[i], two[i])
			}
		})
	}
}
