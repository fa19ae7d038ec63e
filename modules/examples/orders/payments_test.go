package main

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/paytest"
	"github.com/cruster/cruster/internal/sqltest"
)

// paidBy lets the activities call a payment service over real HTTP.
func paidBy(t *testing.T, service *paytest.Service, more ...crustertest.Option) []crustertest.Option {
	call := crustertest.HandleHTTP(func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
		req, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL, bytes.NewReader(r.Body))
		if err != nil {
			return cruster.HTTPResponse{}, err
		}
		for _, h := range r.Headers {
			req.Header.Add(h.Name, h.Value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return cruster.HTTPResponse{}, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return cruster.HTTPResponse{Status: res.StatusCode, Body: body}, err
	})
	return append(more, call, crustertest.Config("payments_url", service.URL))
}

// TestTheMoneyGoesBack: however an order ends that is not confirmed, the payment service gives the money back.
func TestTheMoneyGoesBack(t *testing.T) {
	t.Parallel()
	interrupted := func(after time.Duration) []crustertest.Option {
		return []crustertest.Option{crustertest.InterruptAfter(after, "changed my mind")}
	}
	unconfirmed := crustertest.Stub(Confirm, func(*cruster.ActivityContext, Confirmation) (bool, error) {
		return false, cruster.NonRetryable(cruster.Errorf("unknown_order", "there is no such order"))
	})
	lostAnswers := func(c paytest.Call) int {
		if c.Path == "/charges" {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
	refundOnThirdCall := func() func(paytest.Call) int {
		refunds := 0
		return func(c paytest.Call) int {
			if c.Path == "/charges" {
				return http.StatusOK
			}
			if refunds++; refunds < 3 {
				return http.StatusBadGateway
			}
			return http.StatusOK
		}
	}
	for name, c := range map[string]struct {
		options []crustertest.Option
		answer  func(paytest.Call) int
	}{
		"interrupted in the cooling-off period": {options: interrupted(time.Second)},
		"interrupted while it is charged": {
			options: append(interrupted(10*time.Second), crustertest.Takes(Charge, 20*time.Second)),
		},
		"not confirmed":                      {options: []crustertest.Option{unconfirmed}},
		"the answers to the charge are lost": {options: interrupted(time.Hour), answer: lostAnswers},
		"the refund needs three attempts":    {options: interrupted(time.Second), answer: refundOnThirdCall()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, db := paytest.Start(t), sqltest.Open(t)
			if c.answer != nil {
				service.Answer(c.answer)
			}
			_, err := crustertest.Run(
				t, ProcessOrder, request, paidBy(t, service, append(c.options, crustertest.SQLite(db))...)...,
			)
			require.Error(t, err)
			taken, refunded := service.Balance("42")
			require.Equal(t, [2]int{300, 300}, [2]int{taken, refunded}, "taken and refunded")
			require.Equal(t, []string{"cancelled"}, sqltest.List(t, db, `SELECT status FROM orders`))
			require.Empty(t, sqltest.List(t, db, `SELECT status FROM charges WHERE status <> 'refunded'`))
			keys := map[string]string{}
			for _, call := range service.Calls() {
				require.Contains(t, []string{"", call.Key}, keys[call.Path], "all attempts of a step have one key")
				keys[call.Path] = call.Key
			}
			require.NotEqual(t, keys["/charges"], keys["/charges/refunds"])
		})
	}
}

// TestChargeHasOneKey: attempts whose answer was lost are repeated with the same idempotency key, so that the customer
// pays once.
func TestChargeHasOneKey(t *testing.T) {
	t.Parallel()
	service := paytest.Start(t)
	answers := 0
	service.Answer(func(paytest.Call) int {
		if answers++; answers == 1 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	res, err := crustertest.Run(t, ProcessOrder, request, paidBy(t, service, crustertest.SQLite(sqltest.Open(t)))...)
	require.NoError(t, err)
	calls := service.Calls()
	require.Len(t, calls, 2)
	require.Equal(t, calls[0].Key, calls[1].Key)
	require.Equal(t, "ch_"+calls[0].Key, res.ChargeID)
	taken, refunded := service.Balance("42")
	require.Equal(t, [2]int{300, 0}, [2]int{taken, refunded}, "a confirmed order is paid once, and not refunded")
}

// TestNotCancelled: an order whose money could not be given back says so.
func TestNotCancelled(t *testing.T) {
	t.Parallel()
	service := paytest.Start(t)
	service.Answer(func(c paytest.Call) int {
		if c.Path == "/charges" {
			return http.StatusOK
		}
		return http.StatusForbidden
	})
	_, err := crustertest.Run(t, ProcessOrder, request,
		paidBy(
			t, service, crustertest.SQLite(sqltest.Open(t)), crustertest.InterruptAfter(time.Second, "changed my mind"),
		)...)
	require.Equal(t, "not_cancelled", cruster.ErrorType(err))
	require.ErrorContains(t, err, "changed my mind")
	require.ErrorContains(t, err, "403")
}
