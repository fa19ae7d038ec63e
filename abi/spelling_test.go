package abi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	known := []string{"Ping", "Refund", "orders"}
	for name, want := range map[string]string{
		"Pign": "Ping", "iPng": "Ping", "pnig": "Ping", "Pin": "Ping", "Pingg": "Ping", "Peng": "Ping",
		"rodesr": "orders", "Refudn": "Refund", "ordesr": "orders",
		"gniP": "", "Pong!": "", "": "", strings.Repeat("x", MaxName+1): "",
	} {
		meant := ""
		if want != "" {
			meant = `; did you mean "` + want + `"?`
		}
		require.Equal(t, meant, DidYouMean(name, known), name)
	}
}

func TestDidYouMeanByAnotherSpelling(t *testing.T) {
	t.Parallel()
	near := []Spelling{{Text: "hourly", Of: "shop/hourly"}, {Text: "nightly", Of: "shop/nightly"}}
	require.Equal(t, `; did you mean "shop/hourly"?`, DidYouMean("hourly", []string{"weekly"}, near...))
	require.Equal(t, `; did you mean "shop/nightly"?`, DidYouMean("nigthly", []string{"weekly"}, near...))
	require.Equal(
		t, `; did you mean "hourly"?`, DidYouMean("hourli", []string{"hourly"}, near...), "a known name comes first",
	)
	require.Empty(t, DidYouMean("daily", nil, near...))
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"abc", "acb", 1},
		{"abc", "bac", 1},
		{"abcd", "badc", 2},
		{"ca", "abc", 3}, // a letter between two that were swapped is a second edit of the same place
		{"kitten", "sitting", 3},
	} {
		require.Equal(t, c.want, editDistance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, editDistance(c.b, c.a), "%s %s", c.b, c.a)
	}
}
