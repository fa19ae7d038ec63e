package faultpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Passing is the n-th time that one engine passes a point, counted from its start. It is written POINT@N.
type Passing struct {
	Point string
	N     int
}

func (p Passing) String() string { return p.Point + "@" + strconv.Itoa(p.N) }

// ParsePassing reads POINT@N.
func ParsePassing(text string) (Passing, error) {
	point, count, _ := strings.Cut(text, "@")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || !slices.Contains(Points, point) {
		return Passing{}, fmt.Errorf("%q is not POINT@N with a point out of %s", text, strings.Join(Points, ", "))
	}
	return Passing{Point: point, N: n}, nil
}
