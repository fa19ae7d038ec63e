package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

const week = 7 * 24 * time.Hour

var weekly = BillingRequest{Customer: "ada", Cents: 500, PeriodMS: week.Milliseconds()}

// TestYears has a customer stay for 10,000 weeks, which are 191 years, and pay a cent more after
// each thousand.
func TestYears(t *testing.T) {
	t.Parallel()
	const periods = 10_000
	db := sqltest.Open(t)
	sql := crustertest.SQLite(db)
	var h crustertest.History
	options := []crustertest.Option{
		sql, crustertest.Record(&h),
		crustertest.SignalAfter((periods-1)*week+time.Hour, Cancel, Cancellation{Reason: "moved away"}),
	}
	var want []string
	for thousand := range int64(10) {
		want = append(want, fmt.Sprint(500+thousand, " 1000"))
		if thousand > 0 {
			options = append(
				options,
				crustertest.SignalAfter(time.Duration(1000*thousand)*week-time.Hour, ChangePlan, NewPlan{
					Cents: 500 + thousand,
				}),
			)
		}
	}
	result, err := crustertest.Run(t, Billing, weekly, options...)
	require.NoError(t, err)
	require.Equal(t, BillingResult{Charged: periods, Reason: "moved away"}, result)
	require.Equal(
		t, want,
		sqltest.List(t, db, `SELECT cents || ' ' || COUNT(*) FROM billing_charges GROUP BY cents ORDER BY cents`),
	)
	crustertest.Replay(t, &h)

	cents, err := crustertest.Run(t, Report, cruster.None{}, sql)
	require.NoError(t, err)
	require.EqualValues(t, 5045*1000, cents)
}

// TestPlanChangesBetweenRuns has two plan changes come together at the end of a run. It receives
// the first only: the second is unread, and the next run's, which looks at it once it has charged
// its first period.
func TestPlanChangesBetweenRuns(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	result, err := crustertest.Run(t, Billing, weekly, crustertest.SQLite(db),
		crustertest.SignalAfter(PeriodsPerRun*week, ChangePlan, NewPlan{Cents: 600}),
		crustertest.SignalAfter(PeriodsPerRun*week, ChangePlan, NewPlan{Cents: 700}),
		crustertest.SignalAfter((PeriodsPerRun+1)*week+time.Hour, Cancel, Cancellation{}))
	require.NoError(t, err)
	require.EqualValues(t, PeriodsPerRun+2, result.Charged)
	require.Equal(
		t, []string{"500", "600", "700"},
		sqltest.List(t, db, `SELECT CAST(cents AS TEXT) FROM billing_charges WHERE period >= 100 ORDER BY period`),
	)
}

// TestCancelBetweenRuns has a customer cancel at the moment at which a run continues as the next.
func TestCancelBetweenRuns(t *testing.T) {
	t.Parallel()
	result, err := crustertest.Run(t, Billing, weekly, crustertest.SQLite(sqltest.Open(t)),
		crustertest.SignalAfter(PeriodsPerRun*week, Cancel, Cancellation{}))
	require.NoError(t, err)
	require.Contains(t, []int64{PeriodsPerRun, PeriodsPerRun + 1}, result.Charged)
}
