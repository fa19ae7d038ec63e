package extenttest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPairwise looks for each pair of values without the functions that choose them, and holds how many
// combinations there are against a bound.
func TestPairwise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes []int
		most  int
	}{
		{[]int{3}, 3},
		{[]int{2, 2}, 4},
		{[]int{2, 2, 2}, 4},
		{[]int{3, 2, 3}, 9},
		{[]int{6, 2, 2}, 12},
		{[]int{24, 2, 2}, 48},
		{[]int{2, 2, 2, 2}, 6},
		{[]int{3, 3, 3, 3}, 12},
	} {
		t.Run(fmt.Sprint(c.sizes), func(t *testing.T) {
			t.Parallel()
			chosen := pairwise(product(c.sizes))
			require.LessOrEqual(t, len(chosen), c.most)
			requirePairs(t, product(c.sizes), chosen)
			require.Equal(t, chosen, pairwise(product(c.sizes)), "the same again")
		})
	}
}

// requirePairs checks that each pair of values which a candidate has is one of a chosen combination.
func requirePairs(t *testing.T, candidates, chosen [][]int) {
	t.Helper()
	for a := range candidates[0] {
		for b := range a {
			want, seen := map[[2]int]bool{}, map[[2]int]bool{}
			for _, c := range candidates {
				want[[2]int{c[a], c[b]}] = true
			}
			for _, c := range chosen {
				seen[[2]int{c[a], c[b]}] = true
			}
			require.Equal(t, want, seen, "settings %d and %d", b, a)
		}
	}
}

// TestPairwiseIsEven: a choice that no pair decides is not the same throughout. Of the settings
// besides the first, all combinations occur, and equally often.
func TestPairwiseIsEven(t *testing.T) {
	t.Parallel()
	seen := map[[3]int]int{}
	for _, c := range pairwise(product([]int{24, 2, 2, 2})) {
		seen[[3]int(c[1:])]++
	}
	require.Len(t, seen, 8)
	for combination, n := range seen {
		require.Equal(t, 6, n, combination)
	}
}

// TestPossible: a scenario has as many steps as its number says.
func TestPossible(t *testing.T) {
	t.Parallel()
	possible := func(c []int) bool { return c[1] <= c[0] }
	chosen := Possible(possible, 8, 8, 5)
	for _, c := range chosen {
		require.True(t, possible(c))
	}
	candidates := slices.DeleteFunc(product([]int{8, 8, 5}), func(c []int) bool { return !possible(c) })
	requirePairs(t, candidates, chosen)
	require.Empty(t, Possible(func([]int) bool { return false }, 3, 3))
}

// TestEach: each value occurs, and tests differ in which come together.
func TestEach(t *testing.T) {
	t.Parallel()
	seen := map[[2]int]bool{}
	for i := range 20 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			var values [2]map[int]bool
			for s := range values {
				values[s] = map[int]bool{}
			}
			for _, c := range Each(t, 2, 3) {
				seen[[2]int(c)] = true
				values[0][c[0]], values[1][c[1]] = true, true
			}
			require.Len(t, values[0], 2)
			require.Len(t, values[1], 3)
		})
	}
	require.Len(t, seen, 6)
}

// TestCombinations: in full there are all combinations, each once.
func TestCombinations(t *testing.T) {
	t.Setenv("CRUSTER_TEST_EXTENT", "full")
	require.Equal(
		t, [][]int{{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}, {1, 0, 0}, {1, 0, 1}, {1, 1, 0}, {1, 1, 1}},
		Combinations(2, 2, 2),
	)
	require.Equal(t, 7, Sized(7, 3))
	t.Setenv("CRUSTER_TEST_EXTENT", "")
	require.Equal(t, [][]int{{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, Combinations(2, 2, 2))
	require.Equal(t, 3, Sized(7, 3))
	t.Setenv("CRUSTER_TEST_EXTENT", "most")
	require.Panics(t, func() { Full() }, "a word that is misspelt would try less than was asked for")
}
