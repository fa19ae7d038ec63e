package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

const week = 7 * 24 * time.Hour

var weekly = BillingRequest{Customer: "ada", Cents: 500, PeriodMS: week.Milliseconds()}

// TestYears has a customer stay for 10,000 weeks, which are 191 years.
func TestYears(t *testing.T) {
	t.Parallel()
	const periods = 10_000
	db := sqltest.Open(t)
	sql := crustertest.SQLite(db)
	var h crustertest.History
	result, err := crustertest.Run(t, Billing, weekly, sql, crustertest.Record(&h),
		crustertest.SignalAfter((periods-1)*week+time.Hour, Cancel, Cancellation{Reason: "moved away"}))
	require.NoError(t, err)
	require.Equal(t, BillingResult{Charged: periods, Reason: "moved away"}, result)
	require.Equal(t, []string{"10000"}, sqltest.List(t, db, `SELECT CAST(COUNT(*) AS TEXT) FROM billing_charges WHERE cents = 500`))
	crustertest.Replay(t, &h)

	cents, err := crustertest.Run(t, Report, cruster.None{}, sql)
	require.NoError(t, err)
	require.EqualValues(t, 500*periods, cents)
}

// TestCancelBetweenRuns has a customer cancel at the moment at which a run continues as the next.
func TestCancelBetweenRuns(t *testing.T) {
	t.Parallel()
	result, err := crustertest.Run(t, Billing, weekly, crustertest.SQLite(sqltest.Open(t)),
		crustertest.SignalAfter(PeriodsPerRun*week, Cancel, Cancellation{}))
	require.NoError(t, err)
	require.Contains(t, []int64{PeriodsPerRun, PeriodsPerRun + 1}, result.Charged)
}
