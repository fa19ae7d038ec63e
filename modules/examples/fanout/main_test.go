package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

func TestFanOut(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	var h crustertest.History
	res, err := crustertest.Run(
		t, FanOut, FanOutRequest{Run: "a", Record: true}, crustertest.SQLite(db), crustertest.Record(&h),
	)
	require.NoError(t, err)
	require.Equal(t, FanOutResult{N: 100, Sum: 338350}, res)
	require.Len(t, h.Steps(), 100)
	crustertest.Replay(t, &h)
	require.Equal(t, []string{"100"}, sqltest.List(t, db, `SELECT COUNT(DISTINCT step) FROM fanout_effects`))
	require.Equal(t, []string{"100"}, sqltest.List(t, db, `SELECT COUNT(*) FROM fanout_effects`))
}

func TestFanOutWithFailures(t *testing.T) {
	t.Parallel()
	// Every third step fails at first; one never works.
	stub := func(broken int64) crustertest.Option {
		return crustertest.Stub(Square, func(ctx *cruster.ActivityContext, s Step) (int64, error) {
			if s.Number == broken || s.Number%3 == 0 && ctx.Attempt() == 1 {
				return 0, errors.New("not now")
			}
			return square(ctx, s)
		})
	}
	res, err := crustertest.Run(t, FanOut, FanOutRequest{Run: "a", N: 10}, stub(0))
	require.NoError(t, err)
	require.Equal(t, int64(385), res.Sum)
	_, err = crustertest.Run(t, FanOut, FanOutRequest{Run: "a", N: 10}, stub(7))
	require.ErrorContains(t, err, "not now")
	_, err = crustertest.Run(t, FanOut, FanOutRequest{Run: "a", N: -1})
	require.Equal(t, "invalid_request", cruster.ErrorType(err))
}
