package cruster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

type subscription struct {
	Customer string `json:"customer"`
	Periods  int    `json:"periods"`
}

var unsubscribe = cruster.NewSignal[cruster.None]("unsubscribe")

var subscribed = cruster.NewWorkflow("example.subscribed", func(ctx cruster.Context, s subscription) (string, error) {
	_, err := cruster.WithTimeout(ctx, 30*24*time.Hour, unsubscribe.Future(ctx))
	if err == nil {
		return fmt.Sprint(s.Customer, " stayed for ", s.Periods, " periods"), nil
	}
	s.Periods++ // and charge for it
	return "", cruster.ContinueAsNew(s)
}).Accepts(unsubscribe)

func ExampleContinueAsNew() {
	var h crustertest.History
	res, err := crustertest.Execute(subscribed, subscription{Customer: "ada"}, crustertest.Record(&h),
		crustertest.SignalAfter(2*365*24*time.Hour, unsubscribe, cruster.None{}))
	fmt.Println(res, err, len(h.Before))
	// Output: ada stayed for 24 periods <nil> 24
}

var word = cruster.NewSignal[string]("word")

type wordsRequest struct {
	Runs int      `json:"runs"`
	Seen []string `json:"seen"`
}

// words has a signal arrive in each of its runs, and reads them all in the last.
var words = cruster.NewWorkflow("test.words", func(ctx cruster.Context, r wordsRequest) ([]string, error) {
	first, ok, err := word.TryReceive(ctx)
	if err != nil {
		return nil, err
	}
	if ok && r.Runs == 0 {
		all := append(r.Seen, first)
		for range 2 {
			w, err := word.Receive(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, w)
		}
		return all, nil
	}
	if err := cruster.Sleep(ctx, time.Minute); err != nil {
		return nil, err
	}
	if r.Runs > 0 {
		if ok {
			r.Seen = append(r.Seen, first)
		}
		return nil, cruster.ContinueAsNew(wordsRequest{Runs: r.Runs - 1, Seen: r.Seen})
	}
	return nil, cruster.Errorf("none", "no word")
}).Accepts(word)

func TestSignalsOfRunsThatContinue(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, words, wordsRequest{Runs: 2},
		crustertest.SignalAfter(30*time.Second, word, "a"), crustertest.SignalAfter(30*time.Second, word, "b"),
		crustertest.SignalAfter(90*time.Second, word, "c"), crustertest.SignalAfter(100*time.Second, word, "d"),
		crustertest.SignalAfter(110*time.Second, word, "e"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "d"}, got)
	unread, err := crustertest.Unread(&h, word)
	require.NoError(t, err)
	require.Equal(t, []string{"e"}, unread)
	require.Len(t, h.Before, 2)
	require.Equal(t, 2*time.Minute, h.Start.Sub(h.Before[0].Start))
	crustertest.Replay(t, &h)
}

var wrongNext = cruster.NewWorkflow("test.wrongNext", func(_ cruster.Context, how string) (string, error) {
	if how == "wrapped" {
		return "", fmt.Errorf("enough: %w", cruster.ContinueAsNew("last"))
	}
	if how == "wrong" {
		return "", cruster.ContinueAsNew(7)
	}
	return how, nil
})

func TestContinueAsNewWithAnotherType(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, wrongNext, "wrong")
	require.ErrorContains(t, err, "workflow test.wrongNext takes a string, and ContinueAsNew was given a int")
	got, _, err := run(t, wrongNext, "wrapped")
	require.NoError(t, err)
	require.Equal(t, "last", got)
}

// luckyNumbers draws one in each of its runs.
var luckyNumbers = cruster.NewWorkflow("test.lucky", func(ctx cruster.Context, drawn []uint64) ([]uint64, error) {
	drawn = append(drawn, cruster.Rand(ctx).Uint64())
	if len(drawn) < 3 {
		return nil, cruster.ContinueAsNew(drawn)
	}
	return drawn, nil
})

func TestRunsDrawOtherNumbers(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, luckyNumbers, nil)
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.NotEqual(t, got[0], got[1])
	require.NotEqual(t, got[1], got[2])
	crustertest.Replay(t, &h)
}

// renewing sleeps until it should go on as a new run, and tells how long its journals were.
var renewing = cruster.NewWorkflow("test.renewing", func(ctx cruster.Context, earlier []int) ([]int, error) {
	if cruster.HistoryLen(ctx) != 0 {
		return nil, errors.New("a run begins with an empty journal")
	}
	for !cruster.ShouldContinueAsNew(ctx) {
		if len(earlier) == 2 && cruster.HistoryLen(ctx) == 3 {
			return append(earlier, 3), nil
		}
		if err := cruster.Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return nil, cruster.ContinueAsNew(append(earlier, cruster.HistoryLen(ctx)))
})

func TestWorkflowsContinueByTheLengthOfTheirJournal(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	lengths, err := crustertest.Run(t, renewing, nil, crustertest.Record(&h))
	require.NoError(t, err)
	require.Equal(t, []int{10_000, 10_000, 3}, lengths)
	require.NoError(t, h.Replay())
}

// stumble fails at its first attempt.
var stumble = cruster.NewActivity("test.stumble", func(ctx *cruster.ActivityContext, _ int) (int, error) {
	if ctx.Attempt() == 1 {
		return 0, errors.New("stumbled")
	}
	return ctx.Attempt(), nil
}, cruster.Retries(1))

// stumbling goes on as a new run when its journal has six entries, and tells how many steps each run took.
var stumbling = cruster.NewWorkflow("test.stumbling", func(ctx cruster.Context, earlier []int) ([]int, error) {
	steps := 0
	for cruster.HistoryLen(ctx) < 6 {
		if _, err := stumble.Call(ctx, steps); err != nil {
			return nil, err
		}
		steps++
	}
	if earlier = append(earlier, steps, cruster.HistoryLen(ctx)); len(earlier) == 4 {
		return earlier, nil
	}
	return nil, cruster.ContinueAsNew(earlier)
})

// A host has an entry for each attempt that failed.
func TestFailedAttemptsAreInTheLengthOfTheJournal(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	lengths, err := crustertest.Run(t, stumbling, nil, crustertest.Record(&h))
	require.NoError(t, err)
	require.Equal(t, []int{3, 6, 3, 6}, lengths)
	require.Len(t, h.Before, 1)
	require.NoError(t, h.Replay())
}
