package cruster_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	progressQuery = cruster.NewQuery[int, string]("test.progress")
	wrongQuery    = cruster.NewQuery[cruster.None, cruster.None]("test.wrong")
	unaskedQuery  = cruster.NewQuery[cruster.None, cruster.None]("test.unasked")
)

var queried = cruster.NewWorkflow("test.queried", func(ctx cruster.Context, _ cruster.None) (int, error) {
	if err := cruster.Sleep(ctx, time.Minute); err != nil {
		return 0, err
	}
	done := 0
	progressQuery.Handle(ctx, func(of int) (string, error) {
		if of == 0 {
			return "", errors.New("of nothing")
		}
		return string(rune('0'+done)) + " of " + string(rune('0'+of)), nil
	})
	wrongQuery.Handle(ctx, func(cruster.None) (cruster.None, error) {
		return cruster.None{}, cruster.Sleep(ctx, time.Second)
	})
	for range 2 {
		if err := cruster.Sleep(ctx, time.Minute); err != nil {
			return 0, err
		}
		done++
	}
	return done, nil
}).Answers(progressQuery, wrongQuery)

func TestQueries(t *testing.T) {
	t.Parallel()
	type answer struct {
		text, code string
	}
	var got []answer
	note := func(text string, err error) { got = append(got, answer{text, cruster.ErrorCode(err)}) }
	at := func(s int) time.Duration { return time.Duration(s) * time.Second }
	res, err := crustertest.Execute(queried, cruster.None{},
		crustertest.QueryAfter(at(30), progressQuery, 2, note),
		crustertest.QueryAfter(at(90), progressQuery, 2, note),
		crustertest.QueryAfter(at(150), progressQuery, 2, note),
		crustertest.QueryAfter(at(151), progressQuery, 0, note),
		crustertest.QueryAfter(at(152), wrongQuery, cruster.None{}, func(_ cruster.None, err error) { note("", err) }),
		crustertest.QueryAfter(at(153), unaskedQuery, cruster.None{}, func(_ cruster.None, err error) {
			note("", err)
		}),
	)
	require.NoError(t, err)
	require.Equal(t, 2, res)
	require.Equal(
		t, []answer{{"", "CR-2036"}, {"0 of 2", ""}, {"1 of 2", ""}, {"", "CR-2037"}, {"", "CR-4002"}, {"", "CR-2035"}},
		got,
	)
}

var undeclaredQuery = cruster.NewWorkflow(
	"test.undeclaredQuery",
	func(ctx cruster.Context, _ cruster.None) (int, error) {
		progressQuery.Handle(ctx, func(int) (string, error) { return "", nil })
		return 0, nil
	},
)

func TestQueriesAreDeclared(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Execute(undeclaredQuery, cruster.None{})
	require.ErrorContains(t, err, "does not answer the query")
	require.Panics(t, func() { queried.Answers(progressQuery) })
}
