package extenttest

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
)

// Combinations are the combinations of settings that a test tries. Each size says how many values a setting has, and
// each combination has the index of one value of every setting. In full they are all combinations, otherwise few that
// have every pair of values.
func Combinations(sizes ...int) [][]int {
	return Possible(func([]int) bool { return true }, sizes...)
}

// Possible are [Combinations] where not every combination can be tried. Every pair occurs that a
// possible combination has.
func Possible(possible func(combination []int) bool, sizes ...int) [][]int {
	candidates := slices.DeleteFunc(product(sizes), func(c []int) bool { return !possible(c) })
	if Full() {
		return candidates
	}
	return pairwise(candidates)
}

// Each are the combinations for a test that is one of many with the same settings: the test itself is a setting,
// and each value of each other one meets it. Which values come together depends on its name.
func Each(t testing.TB, sizes ...int) [][]int {
	t.Helper()
	if Full() {
		return product(sizes)
	}
	name := fnv.New64a()
	name.Write([]byte(t.Name()))
	random := rand.New(rand.NewPCG(name.Sum64(), 0))
	all := make([][]int, slices.Max(sizes))
	for _, size := range sizes {
		from := random.IntN(size)
		for i := range all {
			all[i] = append(all[i], (from+i)%size)
		}
	}
	return all
}

// pair is two values of two settings.
type pair struct{ setting, value, otherSetting, otherValue int }

func pairsOf(combination []int) []pair {
	var all []pair
	for s, v := range combination {
		for o := range s {
			all = append(all, pair{o, combination[o], s, v})
		}
	}
	return all
}

// product are all combinations, in the order of their values.
func product(sizes []int) [][]int {
	all := [][]int{{}}
	for _, size := range sizes {
		var longer [][]int
		for _, c := range all {
			for v := range size {
				longer = append(longer, append(c[:len(c):len(c)], v))
			}
		}
		all = longer
	}
	return all
}

// pairwise takes, again and again, the first combination that has the most pairs which none before
// it has, and among those the pairs that were taken least: otherwise every free choice would be the
// first value throughout, and few combinations of three settings would occur. The same candidates
// make the same choice, so that a test has the same name in each run. To look for the fewest would
// be slow, and spare few.
func pairwise(candidates [][]int) [][]int {
	if len(candidates) == 0 || len(candidates[0]) < 2 {
		return candidates // there are no pairs
	}
	missing, taken := map[pair]bool{}, map[pair]int{}
	for _, c := range candidates {
		for _, p := range pairsOf(c) {
			missing[p] = true
		}
	}
	var chosen [][]int
	for len(missing) > 0 {
		best := bestOf(candidates, missing, taken)
		for _, p := range pairsOf(best) {
			delete(missing, p)
			taken[p]++
		}
		chosen = append(chosen, best)
	}
	return chosen
}

func bestOf(candidates [][]int, missing map[pair]bool, taken map[pair]int) (best []int) {
	most, least := 0, 0
	for _, c := range candidates {
		fresh, stale := 0, 0
		for _, p := range pairsOf(c) {
			if missing[p] {
				fresh++
			}
			stale += taken[p]
		}
		if fresh > most || fresh == most && stale < least {
			best, most, least = c, fresh, stale
		}
	}
	return best
}
