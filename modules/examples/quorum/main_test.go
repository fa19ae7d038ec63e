package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

const letters = `SELECT kind || ' ' || recipient || ' ' || number FROM quorum_letters ORDER BY rowid`

func vote(after time.Duration, name string, agrees bool) crustertest.Option {
	return crustertest.ResolveAfter(after, Votes.Named(name), Vote{Agrees: agrees})
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		votes   []crustertest.Option
		want    QuorumResult
		letters []string
		took    time.Duration
	}{
		"accepted": {
			[]crustertest.Option{vote(time.Hour, "ada", true), vote(30*time.Hour, "eve", true)},
			QuorumResult{Decision: "accepted", For: []string{"ada", "eve"}, Against: []string{}},
			[]string{"reminder bob 1", "reminder eve 1", "accepted all 1"},
			30 * time.Hour,
		},
		"rejected": {
			[]crustertest.Option{vote(0, "ada", true), vote(time.Hour, "bob", false), vote(2*time.Hour, "eve", false)},
			QuorumResult{Decision: "rejected", For: []string{"ada"}, Against: []string{"bob", "eve"}},
			[]string{"rejected all 1"},
			2 * time.Hour,
		},
		"expired": {
			[]crustertest.Option{vote(time.Hour, "ada", true), vote(time.Hour, "eve", false)},
			QuorumResult{Decision: "expired", For: []string{"ada"}, Against: []string{"eve"}},
			[]string{"reminder bob 1", "reminder bob 2", "expired all 1"},
			3 * day,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := sqltest.Open(t)
			var h crustertest.History
			got, err := crustertest.Run(
				t, Decide,
				QuorumRequest{
					Proposal: "p", Approvers: []string{"ada", "bob", "eve"}, DeadlineMS: (3 * day).Milliseconds(),
				},
				append(test.votes, crustertest.SQLite(db), crustertest.Record(&h))...,
			)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			require.Equal(t, test.letters, sqltest.List(t, db, letters))
			require.Equal(t, test.took, h.Duration())
			crustertest.Replay(t, &h)
		})
	}
}
