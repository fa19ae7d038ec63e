package host

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestResidents(t *testing.T) {
	t.Parallel()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "residents"})
	rs := newResidents(3, gauge)
	var evicted []journal.ID
	evict := func(id journal.ID) { evicted = append(evicted, id); rs.remove(id) }
	add := func(n byte) { rs.add(journal.ID{n}, evict) }
	for n := range byte(3) {
		add(n + 1)
	}
	require.Empty(t, evicted, "there is room for three")
	add(1) // used again
	add(4)
	require.Equal(t, []journal.ID{{2}}, evicted, "the one used longest ago goes")
	require.ElementsMatch(t, []journal.ID{{1}, {3}, {4}}, rs.all())
	rs.remove(journal.ID{3})
	rs.remove(journal.ID{99})
	add(5)
	require.Len(t, evicted, 1)

	// Those that are at work cannot be evicted: there may be more for a while.
	for n := range byte(5) {
		rs.add(journal.ID{n + 10}, func(journal.ID) {})
	}
	require.Len(t, rs.all(), 8)
	add(30)
	require.Len(t, rs.all(), 3, "they go as soon as they can")
	require.Contains(t, rs.all(), journal.ID{30}, "the newest stays")
}

// TestResidentsOfOne never evicts the one that is just added.
func TestResidentsOfOne(t *testing.T) {
	t.Parallel()
	rs := newResidents(1, prometheus.NewGauge(prometheus.GaugeOpts{Name: "residents"}))
	for n := range byte(20) {
		id := journal.ID{n}
		rs.add(id, func(victim journal.ID) {
			require.NotEqual(t, id, victim)
			rs.remove(victim)
		})
		require.Equal(t, []journal.ID{id}, rs.all())
	}
}
