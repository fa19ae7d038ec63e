package execution

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestIfFinishedDecides(t *testing.T) {
	t.Parallel()
	const restart, refuse, found = "restart", "refuse", "found"
	for p, want := range map[abi.IfFinished]map[journal.State]string{
		"":                  {journal.Completed: found, journal.Failed: found, journal.Interrupted: found},
		abi.ReturnFinished:  {journal.Completed: found, journal.Failed: found, journal.Interrupted: found},
		abi.RestartFinished: {journal.Completed: restart, journal.Failed: restart, journal.Interrupted: restart},
		abi.RestartFailed:   {journal.Completed: found, journal.Failed: restart, journal.Interrupted: restart},
		abi.RefuseFinished:  {journal.Completed: refuse, journal.Failed: refuse, journal.Interrupted: refuse},
	} {
		for state, wanted := range want {
			got := found
			switch restarts, refuses := decideFinished(p, state); {
			case restarts:
				got = restart
			case refuses:
				got = refuse
			}
			require.Equal(t, wanted, got, "%q of one that is %s", p, state)
		}
	}
}
