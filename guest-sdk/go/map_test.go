package cruster_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// mapped asks for a number of items, and one may fail.
type mapped struct {
	Items    int
	AtOnce   int
	Fails    int
	Deadline time.Duration
}

type mapResult struct {
	Out   []int
	Most  int
	Begun int
	Err   string
}

var maps = cruster.NewWorkflow("test.map", func(ctx cruster.Context, m mapped) (mapResult, error) {
	var inside headcount
	var r mapResult
	double := func(ctx cruster.Context, i int) (int, error) {
		inside.enter()
		defer inside.leave()
		r.Begun++
		if i == m.Fails {
			return 0, errors.New("no")
		}
		return 2 * i, cruster.Sleep(ctx, time.Minute)
	}
	items := make([]int, m.Items)
	for i := range items {
		items[i] = i
	}
	if m.Deadline == 0 {
		out, err := cruster.Map(ctx, items, m.AtOnce, double)
		r.Out = out
		if err != nil {
			r.Err = err.Error()
		}
	} else {
		part, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(m.Deadline))
		for _, s := range cruster.MapSettled(part, items, m.AtOnce, double) {
			if s.Err != nil {
				r.Err += s.Err.Error() + "; "
				continue
			}
			r.Out = append(r.Out, s.Value)
		}
		cancel()
	}
	r.Most = inside.most
	if inside.now != 0 {
		return r, errors.New("it returned before all calls had")
	}
	return r, nil
})

func TestMap(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, maps, mapped{Items: 7, AtOnce: 3, Fails: -1})
	require.NoError(t, err)
	require.Equal(t, mapResult{Out: []int{0, 2, 4, 6, 8, 10, 12}, Most: 3, Begun: 7}, got)
	require.Equal(t, 3*time.Minute, h.Duration())

	got, h, err = run(t, maps, mapped{Items: 7, AtOnce: 3, Fails: 3})
	require.NoError(t, err)
	require.Equal(
		t, mapResult{Out: []int{0, 0, 0, 0, 0, 0, 0}, Most: 3, Begun: 4, Err: "no"}, got,
		"the fourth begins when the first is done, and ends all",
	)
	require.Equal(t, time.Minute, h.Duration())

	got, _, err = run(t, maps, mapped{AtOnce: 3, Fails: -1})
	require.NoError(t, err)
	require.Equal(t, mapResult{Out: []int{}}, got)

	got, _, err = run(t, maps, mapped{Items: 5, AtOnce: 2, Fails: -1}, crustertest.InterruptAfter(90*time.Second, ""))
	require.NoError(t, err)
	require.Equal(
		t, mapResult{Out: []int{0, 2, 0, 0, 0}, Most: 2, Begun: 4, Err: "the execution was asked to stop"}, got,
	)
}

func TestMapSettled(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, maps, mapped{Items: 6, AtOnce: 2, Fails: 1, Deadline: 150 * time.Second})
	require.NoError(t, err)
	require.Equal(t, mapResult{Out: []int{0, 4, 6, 8}, Most: 2, Begun: 6, Err: "no; timed out; "}, got)
	require.Equal(t, 150*time.Second, h.Duration())
}
