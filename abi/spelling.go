package abi

import (
	"fmt"
	"strings"
)

// A Spelling is a possible spelling of a name that was meant, and the known name that it stands for.
type Spelling struct{ Text, Of string }

// DidYouMean is the end of a message about an unknown name: the known name that was probably meant, as in `; did you
// mean "orders"?`. It is empty if none is near. The other spellings stand for known names.
func DidYouMean(name string, known []string, near ...Spelling) string {
	texts := make([]Spelling, 0, len(known)+len(near))
	for _, k := range known {
		texts = append(texts, Spelling{k, k})
	}
	if best := closest(name, append(texts, near...)); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// closest finds the name that was probably meant; empty if none is near.
func closest(name string, known []Spelling) string {
	if len(name) > MaxName {
		return ""
	}
	best, distance := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k.Text)); d < distance {
			best, distance = k.Of, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and transpositions of neighbours
// between two strings of bounded length. No part is edited twice (optimal string alignment).
func editDistance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost++
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row[j+1] = min(cost, row[j]+1, above[j+1]+1)
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
