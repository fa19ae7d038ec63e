package guide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

func TestDoSeveralThings(t *testing.T) {
	t.Parallel()
	charged := crustertest.Stub(Charge, func(*cruster.ActivityContext, Order) (string, error) { return "ch_1", nil })
	done, took := run(t, Dispatch, order, charged,
		crustertest.Takes(Charge, 20*time.Second), crustertest.Takes(PrintLabel, 30*time.Second))
	require.Equal(t, "ch_1 to 42", done)
	require.Equal(t, 30*time.Second, took)
}

// pages answers for addresses: all are quick but one, and one is not there.
func pages() []crustertest.Option {
	return []crustertest.Option{
		crustertest.Stub(Fetch, func(_ *cruster.ActivityContext, url string) (int, error) {
			if url == "none" {
				return 0, cruster.NonRetryable(cruster.Errorf("not_found", "there is no such page"))
			}
			return len(url), nil
		}),
		crustertest.TakesFunc(Fetch, func(_ *cruster.ActivityContext, url string) time.Duration {
			if url == "slow" {
				return 2 * time.Minute
			}
			return time.Second
		}),
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	missing, took := run(t, Crawl, []string{"fast", "slow", "none"}, pages()...)
	require.Equal(t, []string{"slow", "none"}, missing)
	require.Equal(t, time.Minute, took)

	sizes, took := run(
		t, CrawlAll, []string{"a", "bb", "ccc", "d", "e", "f", "g", "h", "i", "j", "eleventh"}, pages()...,
	)
	require.Equal(t, []int{1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 8}, sizes)
	require.Equal(t, 2*time.Second, took, "ten at a time")
	_, err := crustertest.Run(t, CrawlAll, []string{"fast", "none"}, pages()...)
	require.Equal(t, "not_found", cruster.ErrorType(err))
}

func TestFutures(t *testing.T) {
	t.Parallel()
	first, took := run(t, Race, []string{"slow", "fast", "b"}, pages()...)
	require.Equal(t, 1, first)
	require.Equal(t, 2*time.Minute, took)
}

func TestCallAnotherWorkflow(t *testing.T) {
	t.Parallel()
	abroad := crustertest.StubWorkflow("abroad/Ship", func(p Parcel) (Shipment, error) {
		return Shipment{Tracking: "abroad_" + p.Order}, nil
	})
	tracked, took := run(t, ShipThree, Parcel{Order: "42"}, abroad)
	require.Equal(t, []string{"tr_42", "tr_42", "completed", "abroad_42"}, tracked)
	require.Equal(t, 2*day, took)
}

func TestGiveAnotherWorkflowUp(t *testing.T) {
	t.Parallel()
	ended, took := run(t, Begin, Watch{Month: "May", Host: "example.com"})
	require.Equal(t, []string{"report of May", string(abi.CodeTerminated)}, ended)
	require.Equal(t, time.Hour, took)

	var h crustertest.History
	_, err := crustertest.Run(
		t, Deliver, Parcel{Order: "42"}, crustertest.InterruptAfter(time.Hour, "enough"), crustertest.Record(&h),
	)
	require.ErrorIs(t, err, cruster.ErrInterrupted)
	require.Equal(t, 25*time.Hour, h.Duration(), "it waits until the parcel is back")
	crustertest.Replay(t, &h)
}

func TestEntity(t *testing.T) {
	t.Parallel()
	bank := crustertest.NewEntities(t)
	_, err := crustertest.Call(bank, Withdraw, "ada", -1200)
	require.NoError(t, err)
	left, _ := run(t, WithdrawTwice, cruster.None{}, crustertest.UseEntities(bank))
	require.Equal(t, int64(700), left)
	_, err = crustertest.Call(bank, Withdraw, "ada", 500)
	require.Equal(t, "overdrawn", cruster.ErrorType(err))
	balance, err := crustertest.Call(bank, Balance, "ada", cruster.None{})
	require.NoError(t, err)
	require.Equal(t, int64(200), balance)
	account, _ := crustertest.State(bank, Accounts, "ada")
	require.Equal(t, int64(200), account.Cents)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for card, want := range map[string]string{"0000": "declined", "0002": "5 are missing: true", "4242": "paid"} {
		paid, _ := run(t, PayByCard, card)
		require.Equal(t, want, paid)
	}
	var h crustertest.History
	_, err := crustertest.Run(t, PayByCard, "0001", crustertest.Record(&h))
	require.Equal(t, string(abi.CodeWorkflowFailed), cruster.ErrorCode(err))
	require.ErrorContains(t, err, "no such card")
	require.Zero(t, h.Duration(), "it is not tried again")
}

func TestCleanUp(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	sql := crustertest.SQLite(db)
	var h crustertest.History
	_, err := crustertest.Run(t, Hold, order, sql, crustertest.InterruptAfter(day, "enough"), crustertest.Record(&h))
	require.ErrorIs(t, err, cruster.ErrInterrupted)
	require.Equal(t, day, h.Duration())
	require.Empty(t, sqltest.List(t, db, `SELECT id FROM charges`))
	crustertest.Replay(t, &h)

	held, _ := run(t, Hold, order, sql)
	require.Equal(t, []string{held.Charge}, sqltest.List(t, db, `SELECT id FROM charges`))
}
