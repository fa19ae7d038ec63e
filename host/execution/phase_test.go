package execution

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestPhases takes a run out of every phase by every transition.
func TestPhases(t *testing.T) {
	t.Parallel()
	fault := abi.Errorf(abi.CodeHostFault, "no luck")
	for name, c := range map[string]struct {
		take func(l *lifetime)
		want [6]phase // from absent, continued, unbegun, recovering, live, quarantined
	}{
		"adopt": {
			func(l *lifetime) { l.adopt() }, [6]phase{unbegun, continued, unbegun, recovering, live, quarantined},
		},
		"loaded": {
			func(l *lifetime) { l.loaded() }, [6]phase{absent, unbegun, unbegun, recovering, live, quarantined},
		},
		"begin": {func(l *lifetime) { l.begin() }, [6]phase{live, live, live, live, live, live}},
		"replayed": {
			func(l *lifetime) { l.replayed() },
			[6]phase{recovering, recovering, recovering, recovering, recovering, recovering},
		},
		"recovered": {
			func(l *lifetime) { l.recovered() }, [6]phase{absent, continued, unbegun, live, live, quarantined},
		},
		"startOver": {
			func(l *lifetime) { l.startOver() }, [6]phase{absent, continued, unbegun, unbegun, unbegun, quarantined},
		},
		"unload": {
			func(l *lifetime) { l.unload() }, [6]phase{absent, continued, absent, absent, absent, quarantined},
		},
		"beginAnew": {
			func(l *lifetime) { l.beginAnew() }, [6]phase{absent, absent, unbegun, recovering, live, quarantined},
		},
		"continueAs": {
			func(l *lifetime) { l.continueAs() },
			[6]phase{continued, continued, continued, continued, continued, continued},
		},
		"quarantine": {
			func(l *lifetime) { l.quarantine(fault) },
			[6]phase{quarantined, quarantined, quarantined, quarantined, quarantined, quarantined},
		},
		"release": {func(l *lifetime) { l.release() }, [6]phase{absent, absent, absent, absent, absent, absent}},
	} {
		for from, want := range c.want {
			l := lifetime{phase: phase(from)}
			c.take(&l)
			require.Equal(t, want, l.phase, "%s from phase %d", name, from)
			require.Equal(t, want == quarantined && name == "quarantine", l.fault != nil, name)
			require.Equal(t, want == recovering || want == live, l.begun(), name)
		}
	}
	empty := lifetime{phase: continued}
	require.True(t, empty.loaded())
	require.False(t, empty.loaded(), "it is unbegun by then")
}
