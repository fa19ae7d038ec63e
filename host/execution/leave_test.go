package execution

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestLeavingBesideARetry: an execution whose place is wanted leaves memory as soon as what kept it there is over,
// here an attempt of an activity that will be made again.
func TestLeavingBesideARetry(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureOn(t, open(t), nil, nil)
				f.scripts["w"] = []string{"activity a retries=3; lock E/held"}
				row := rowOf("w", "k")
				_, err := f.x.Starter.Start(t.Context(), row, nil)
				require.NoError(t, err)
				synctest.Wait()
				require.True(t, f.x.evictor.evict(row.ID))
				synctest.Wait()
				require.True(t, f.x.runs.Has(row.ID), "an attempt is under way")
				f.decide(1, "fail once")
				synctest.Wait()
				require.False(t, f.x.runs.Has(row.ID))
			})
		})
	}
}
