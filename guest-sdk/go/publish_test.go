package cruster_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	stage    = cruster.NewState[string]("stage")
	customer = cruster.NewAttribute[string]("customer")
	total    = cruster.NewAttribute[float64]("total")
	placed   = cruster.NewAttribute[time.Time]("placed")
)

var tracked = cruster.NewWorkflow("example.tracked", func(ctx cruster.Context, name string) (string, error) {
	if err := customer.Set(ctx, name); err != nil {
		return "", err
	}
	for i, s := range []string{"paid", "packed", "sent"} {
		if err := errors.Join(stage.Set(ctx, s), cruster.SetProgress(ctx, i+1, 3, "")); err != nil {
			return "", err
		}
		if err := cruster.Sleep(ctx, 24*time.Hour); err != nil {
			return "", err
		}
	}
	return "delivered", nil
}).Publishes(stage, customer)

func ExampleState() {
	var h crustertest.History
	_, err := crustertest.Execute(tracked, "ada", crustertest.Record(&h),
		crustertest.PublishedAfter(36*time.Hour, func(p *crustertest.Published) {
			s, _ := crustertest.ReadState(p, stage)
			c, _ := crustertest.ReadAttribute(p, customer)
			fmt.Println(c, s, p.Progress.Done, "of", p.Progress.Total)
		}))
	last, _ := crustertest.ReadState(&h.Published, stage)
	fmt.Println(last, err)
	// Output:
	// ada packed 2 of 3
	// sent <nil>
}

// frugal publishes the same again and again, and much at once.
var frugal = cruster.NewWorkflow("test.frugal", func(ctx cruster.Context, _ cruster.None) (string, error) {
	for i := range 3 {
		if err := errors.Join(stage.Set(ctx, fmt.Sprint("step ", i)), total.Set(ctx, float64(i))); err != nil {
			return "", err
		}
	}
	if err := placed.Set(ctx, cruster.Now(ctx)); err != nil {
		return "", err
	}
	if err := cruster.Sleep(ctx, time.Second); err != nil {
		return "", err
	}
	if err := stage.Set(ctx, "step 2"); err != nil {
		return "", err
	}
	if err := cruster.Sleep(ctx, time.Second); err != nil {
		return "", err
	}
	total.Clear(ctx)
	stage.Clear(ctx)
	err := stage.Set(ctx, "again")
	last, _ := stage.Get(ctx)
	return last, err
}).Publishes(stage, total, placed)

func TestATurnPublishesOnce(t *testing.T) {
	t.Parallel()
	last, h, err := run(t, frugal, cruster.None{})
	require.NoError(t, err)
	require.Equal(t, "again", last)
	require.Equal(t, []string{"sleep 1s", "publish", "sleep 1s", "publish"}, h.Steps())
	_, found := crustertest.ReadAttribute(&h.Published, total)
	require.False(t, found)
	at, found := crustertest.ReadAttribute(&h.Published, placed)
	require.True(t, found)
	require.True(t, at.Equal(h.Start))
	crustertest.Replay(t, &h)
}

var mispublished = cruster.NewWorkflow("test.mispublished", func(ctx cruster.Context, what string) (string, error) {
	var err error
	switch what {
	case "state":
		stage.Get(ctx)
	case "attribute":
		customer.Clear(ctx)
	case "large":
		err = wide.Set(ctx, strings.Repeat("x", abi.MaxPublishedBytes))
	case "long":
		err = named.Set(ctx, strings.Repeat("x", abi.MaxAttribute+1))
	case "lines":
		err = named.Set(ctx, "two\nlines")
	case "endless":
		err = total.Set(ctx, math.Inf(1))
	case "progress":
		err = cruster.SetProgress(ctx, -1, 0, "")
	case "note":
		err = cruster.SetProgress(ctx, 1, 0, strings.Repeat("x", abi.MaxAttribute+1))
	}
	return "", err
}).Publishes(wide, named, total)

var (
	wide  = cruster.NewState[string]("wide")
	named = cruster.NewAttribute[string]("named")
)

func TestWhatCannotBePublished(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{
		"state": "workflow test.mispublished does not publish the state stage: declare it where the workflow is " +
			"made, with Publishes",
		"attribute": "does not publish the attribute customer",
		"large":     "CR-2005: the published state has 65541 bytes, the limit is 65536",
		"long":      "CR-2042: the text of the attribute named has 257 bytes, the limit is 256",
		"lines":     "CR-2042: the text of the attribute named is not UTF-8, or has a control character",
		"endless":   "CR-2042: the attribute total is not a finite number",
		"progress":  "SetProgress(-1, 0)",
		"note":      "CR-4001: the note of the progress has 257 bytes, the limit is 256",
	} {
		_, _, err := run(t, mispublished, what)
		require.ErrorContains(t, err, want, what)
	}
	require.PanicsWithValue(t, `cruster: workflow test.mispublished publishes the state "wide" twice`, func() {
		mispublished.Publishes(wide)
	})
	require.PanicsWithValue(t, `cruster: workflow test.mispublished publishes the attribute "named" twice`, func() {
		mispublished.Publishes(named)
	})
}
