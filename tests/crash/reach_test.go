package crash_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/harness"
)

// cell says how often a scenario passes a point.
type cell struct {
	n        int  // in every run
	byTime   bool // in every run in which a timer is set before it is due; if n is 0, in slow ones
	byChance bool // in some runs
}

func (c cell) never() bool { return c == cell{} }

// ifSlow tells whether only slow runs pass the point.
func (c cell) ifSlow() bool { return c.n == 0 && c.byTime }

// reach is the table of testdata/points: by scenario, then by point; with warm instances and with evicted ones.
type reach struct {
	warm, evicting map[string]map[string]cell
}

func (r *reach) of(s scenario, evict bool) map[string]cell {
	if evict {
		return r.evicting[s.name]
	}
	return r.warm[s.name]
}

// share are the points that a scenario tries in a variant if each is to be tried once: the points that no scenario
// before it reaches. The variants of processes take turns, as far as each reaches a point.
func (r *reach) share(s scenario, v variant) []string {
	var points []string
	for i, point := range faultpoint.Points {
		there := slices.DeleteFunc(processVariants(), func(v variant) bool { return r.first(point, v.evict) < 0 })
		if len(there) == 0 || there[i/2%len(there)] != v {
			continue // points come in pairs, before a commit and behind it
		}
		if scenarios[r.first(point, v.evict)].name == s.name {
			points = append(points, point)
		}
	}
	return points
}

// first is the first scenario that reaches a point; -1 if none does.
func (r *reach) first(point string, evict bool) int {
	return slices.IndexFunc(scenarios, func(s scenario) bool { return r.of(s, evict)[point].n > 0 })
}

// readReach reads the table; the file says how.
func readReach(t *testing.T) *reach {
	text, err := os.ReadFile("testdata/points")
	require.NoError(t, err)
	r := &reach{warm: map[string]map[string]cell{}, evicting: map[string]map[string]cell{}}
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "#":
		case names == nil:
			names = fields[1:]
			for _, name := range names {
				r.warm[name], r.evicting[name] = map[string]cell{}, map[string]cell{}
			}
		default:
			require.Len(t, fields, 1+len(names), "a cell for each scenario: %s", line)
			for i, text := range fields[1:] {
				warm, evicting, two := strings.Cut(text, "/")
				if !two {
					evicting = warm
				}
				r.warm[names[i]][fields[0]], r.evicting[names[i]][fields[0]] = parseCell(t, warm), parseCell(
					t, evicting,
				)
			}
		}
	}
	return r
}

func parseCell(t *testing.T, text string) cell {
	switch text {
	case "-":
		return cell{}
	case "-t":
		return cell{byTime: true}
	case "~":
		return cell{byChance: true}
	}
	count, byTime := strings.CutSuffix(text, "t")
	n, err := strconv.Atoi(count)
	require.NoError(t, err)
	require.Positive(t, n)
	return cell{n: n, byTime: byTime}
}

// TestEveryPointIsReached compares the table with all points and all scenarios. The other tests see that a scenario
// reaches its points.
func TestEveryPointIsReached(t *testing.T) {
	t.Parallel()
	r := readReach(t)
	require.Len(t, r.warm, len(scenarios))
	for _, s := range scenarios {
		require.Len(t, r.warm[s.name], len(faultpoint.Points), s.name)
		require.NotEmpty(t, readOutcomes(t)[s.name], s.name)
	}
	require.Len(t, readOutcomes(t), len(scenarios))
	for _, point := range faultpoint.Points {
		require.True(t, slices.ContainsFunc(scenarios, func(s scenario) bool {
			return r.of(s, false)[point].n > 0 || r.of(s, true)[point].n > 0
		}), "no scenario reaches %s for sure", point)
	}
	// On each store, in each language and in each mode that has it.
	for _, point := range faultpoint.Points {
		passing := slices.DeleteFunc(settings(), func(s setting) bool {
			return r.of(s.scenario, s.variant.evict)[point].n == 0
		})
		for _, l := range languages {
			require.True(
				t, slices.ContainsFunc(passing, func(s setting) bool { return s.variant.language == l }), "%s in %s",
				point, l.name,
			)
		}
		for _, kind := range harness.StoreKinds {
			require.True(
				t, slices.ContainsFunc(passing, func(s setting) bool { return s.variant.store == kind }), "%s on %s",
				point, kind,
			)
		}
		for _, evict := range []bool{false, true} {
			there := slices.ContainsFunc(scenarios, func(s scenario) bool { return r.of(s, evict)[point].n > 0 })
			require.Equal(
				t, there, slices.ContainsFunc(passing, func(s setting) bool { return s.variant.evict == evict }),
				"%s, evicting %t", point, evict,
			)
		}
	}
	// In all variants of the processes together, each point is reached.
	tried := map[variant]int{}
	for _, point := range faultpoint.Points {
		i := slices.IndexFunc(processVariants(), func(v variant) bool {
			return slices.ContainsFunc(scenarios, func(s scenario) bool {
				return slices.Contains(r.share(s, v), point)
			})
		})
		require.GreaterOrEqual(t, i, 0, "no process kills itself at %s", point)
		tried[processVariants()[i]]++
	}
	for _, v := range processVariants() {
		require.Greater(t, tried[v], len(faultpoint.Points)/len(processVariants())/2, v.name())
	}
}
