package cruster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	answer := cruster.HTTPResponse{
		Status: 201, Body: []byte(`{"ok":true}`), Headers: []cruster.Header{{Name: "X-Id", Value: "7"}},
	}
	var asked []cruster.HTTPRequest
	handler := crustertest.HandleHTTP(func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
		asked = append(asked, r)
		if r.URL == "http://down" {
			return cruster.HTTPResponse{}, errors.New("connection refused")
		}
		return answer, nil
	})
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		res, err := ctx.HTTP().PostJSON(
			"http://pay/charges", map[string]int{"cents": 5}, cruster.Header{Name: "A", Value: "b"},
		)
		if err != nil {
			return "", err
		}
		var body struct{ OK bool }
		require.NoError(t, res.JSON(&body))
		require.True(t, body.OK)
		require.NoError(t, res.Err())
		require.Equal(t, "7", res.Header("x-id"))
		_, err = ctx.HTTP().Get("http://down", cruster.Header{Name: "C", Value: "d"})
		require.Equal(t, string(abi.CodeHTTPFailed), cruster.ErrorCode(err))
		return "", nil
	}, handler)
	require.NoError(t, err)
	require.Equal(t, "POST", asked[0].Method)
	require.JSONEq(t, `{"cents":5}`, string(asked[0].Body))
	require.Equal(
		t, []cruster.Header{{Name: "Content-Type", Value: "application/json"}, {Name: "A", Value: "b"}},
		asked[0].Headers,
	)
	require.Equal(t, "GET", asked[1].Method)
	require.Equal(t, []cruster.Header{{Name: "C", Value: "d"}}, asked[1].Headers)

	_, err = inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		if _, err := ctx.Tx().Exec("INSERT"); err != nil {
			return "", err
		}
		_, err := ctx.HTTP().Get("http://pay")
		return "", err
	}, handler, crustertest.UseDatabase(&fakeDB{}))
	require.ErrorContains(t, err, string(abi.CodeHTTPInTx))
}

func TestHTTPStatusErrors(t *testing.T) {
	t.Parallel()
	for status, retryable := range map[int]bool{400: false, 404: false, 408: true, 429: true, 500: true, 503: true} {
		err := cruster.HTTPResponse{Status: status, Body: []byte("why\n")}.Err()
		var e *cruster.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, retryable, e.Retryable, status)
		require.Equal(t, "http_status", e.Type)
		require.Equal(t, fmt.Sprintf("the answer has status %d: why", status), e.Message)
	}
	require.EqualError(t, cruster.HTTPResponse{Status: 500, Body: []byte(" \n")}.Err(), "the answer has status 500")
	long := cruster.HTTPResponse{Status: 500, Body: []byte(strings.Repeat("ä", 150) + "\n")}.Err()
	require.ErrorContains(t, long, ": "+strings.Repeat("ä", 100)+"…")
	require.NoError(t, cruster.HTTPResponse{Status: 302}.Err())
}
