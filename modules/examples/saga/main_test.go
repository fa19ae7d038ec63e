package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

const logOf = `SELECT action || ' ' || part FROM booking_log ORDER BY position`

func TestBookTrip(t *testing.T) {
	t.Parallel()
	for failAt, want := range map[string]struct {
		result TripResult
		log    []string
	}{
		"": {
			TripResult{Status: "booked", Booked: []string{"flight", "hotel", "car"}, Compensated: []string{}},
			[]string{"book flight", "book hotel", "book car"},
		},
		"car": {
			TripResult{
				Status:      "compensated",
				Booked:      []string{},
				Compensated: []string{"hotel", "flight"},
				Reason:      "CR-3001: there is no car left",
			},
			[]string{"book flight", "book hotel", "give_back hotel", "give_back flight"},
		},
		"flight": {
			TripResult{
				Status:      "compensated",
				Booked:      []string{},
				Compensated: []string{},
				Reason:      "CR-3001: there is no flight left",
			},
			[]string{},
		},
	} {
		t.Run("fail at "+failAt, func(t *testing.T) {
			t.Parallel()
			db := sqltest.Open(t)
			var h crustertest.History
			res, err := crustertest.Run(
				t, BookTrip, TripRequest{TripID: "t", FailAt: failAt}, crustertest.SQLite(db), crustertest.Record(&h),
			)
			require.NoError(t, err)
			want.result.TripID = "t"
			require.Equal(t, want.result, res)
			require.Equal(t, want.log, sqltest.List(t, db, logOf))
			crustertest.Replay(t, &h)
		})
	}
}

func TestInterruptGivesEverythingBack(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	var h crustertest.History
	_, err := crustertest.Run(t, BookTrip, TripRequest{TripID: "t", PauseMS: 1000}, crustertest.SQLite(db),
		crustertest.InterruptAfter(1500*time.Millisecond, "staying at home"), crustertest.Record(&h))
	require.Equal(t, string(abi.CodeInterrupted), cruster.ErrorCode(err))
	require.Equal(
		t, []string{"book flight", "book hotel", "give_back hotel", "give_back flight"}, sqltest.List(t, db, logOf),
	)
	crustertest.Replay(t, &h)
}

func TestInterruptDuringABookingGivesItBackToo(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	_, err := crustertest.Run(t, BookTrip, TripRequest{TripID: "t"}, crustertest.SQLite(db),
		crustertest.Takes(Book, time.Minute), crustertest.InterruptAfter(90*time.Second, ""))
	require.Equal(t, string(abi.CodeInterrupted), cruster.ErrorCode(err))
	require.Equal(t, []string{"give_back hotel", "give_back flight"}, sqltest.List(t, db, logOf)[2:])
}
