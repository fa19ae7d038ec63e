package conformance

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

func determinismCases() []testCase {
	return []testCase{
		// Any values will do; the ledger checks that they are the same in every
		// variant.
		{name: "chance", workflow: "Chance", input: 4, byLanguage: true, after: func(t *testing.T, _ *testBundle, row *journal.Execution) {
			drawn := harness.Decode[[]string](t, row.Value)
			require.Len(t, drawn, 5*6)
			uuids := []string{drawn[0], drawn[6], drawn[12], drawn[18], drawn[24]}
			slices.Sort(uuids)
			require.Len(t, slices.Compact(uuids), 5, "a UUID occurs twice")
		}},
		{name: "clock", workflow: "Clock", input: object{}, want: object{
			"is the journal's": true, "stands still": true, "goes on": true, "is still the journal's": true,
		}},
		{name: "identity", workflow: "Identity", input: object{}, want: object{
			"execution": "conformance/Identity/identity", "namespace": "default", "environment": "[]", "files": "true",
			"in the activity": "default conformance/Identity/identity 1", "arguments": "0",
		}},
		{name: "log", workflow: "Log", input: object{}, want: 1, after: func(t *testing.T, b *testBundle, row *journal.Execution) {
			harness.Eventually(t, "the last line is there", func() bool { return len(b.logs.of(row.Name())) >= 6 })
			require.ElementsMatch(t, []string{
				"INFO before the first step n=1", "INFO printed before the first step", "INFO in the activity", "WARN printed in the activity",
				"WARN between two steps", `ERROR after the last step k=v g.x="y z"`,
			}, b.logs.of(row.Name()), "each line must be logged once, however often the workflow is replayed")
		}},
	}
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
