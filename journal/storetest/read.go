package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var readTests = []test{
	{"DueOrderAndPaging", nil, testDue},
	{"ListPages", nil, testListPages},
	{"ListFilters", nil, testListFilters},
	{"ListBounds", nil, testListBounds},
	{"ListCutsErrors", nil, testListCutsErrors},
	{"BriefRows", nil, testBriefRows},
	{"Callee", nil, testCallee},
	{"Links", nil, testLinks},
	{"Ping", nil, testPing},
}

// testListCutsErrors lists an execution with the largest error there may be.
func testListCutsErrors(t *testing.T, b *bundle) {
	e := newExecution("k")
	e.Error = &abi.Error{
		Code: abi.CodePaused, Message: strings.Repeat("ü", 8<<10), Hint: "h", Details: make([]byte, 256<<10),
	}
	b.start(t, e)
	page, err := b.store.List(b.ctx, journal.Filter{})
	require.NoError(t, err)
	require.Equal(t, []journal.Execution{journal.Listed(e)}, page.Executions)
	require.Less(t, len(page.Executions[0].Error.Message), 5<<10)
	require.Nil(t, page.Executions[0].Error.Details)
	require.Equal(t, &e, b.load(t, e.ID), "it is whole where it is asked for alone")
}

// testBriefRows: a brief row is without payloads that are large, wherever it is read, and takes little memory. It tells
// how large they are.
func testBriefRows(t *testing.T, b *bundle) {
	request := journal.OriginOfRequest("r")
	row := newExecution("large")
	row.Input, row.Value = make([]byte, 4<<20), make([]byte, 3<<20)
	row.Request, row.Parent = request, journal.Caller{
		ID: journal.IDOf("default", "w", "parent"), Run: journal.RunID{7}, Step: journal.StepID{8},
	}
	b.start(t, row)
	small := newExecution("small")
	small.Value = make([]byte, journal.MaxBrief)
	b.start(t, small)

	want := row.Brief()
	require.Nil(t, want.Input)
	require.Equal(t, journal.Sizes{Input: 4 << 20, Value: 3 << 20}, want.LeftOut)
	reads := map[string]func() (*journal.Execution, error){
		"current":   func() (*journal.Execution, error) { return b.store.Brief(b.ctx, row.ID) },
		"by run":    func() (*journal.Execution, error) { return b.store.BriefRun(b.ctx, row.ID, row.Run) },
		"requested": func() (*journal.Execution, error) { return b.store.Requested(b.ctx, row.ID, request) },
		"callee":    func() (*journal.Execution, error) { return b.store.Callee(b.ctx, row.Parent) },
	}
	for name, read := range reads {
		got, err := read()
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	got, err := b.store.Brief(b.ctx, small.ID)
	require.NoError(t, err)
	require.Equal(t, &small, got, "small payloads stay")
	for _, no := range []journal.RunID{{9}, {}} {
		_, err = b.store.FindRun(b.ctx, row.ID, no)
		require.ErrorIs(t, err, journal.ErrNotFound)
		_, err = b.store.BriefRun(b.ctx, row.ID, no)
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	_, err = b.store.Brief(b.ctx, journal.IDOf("default", "w", "absent"))
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func testDue(t *testing.T, b *bundle) {
	var want []journal.Wake
	for i := range 20 {
		e := newExecution(fmt.Sprint(i))
		// Several at the same time, so that the id decides.
		e.WakeAt = int64(i/4) * 100
		b.start(t, e)
		want = append(want, journal.Wake{ID: e.ID, At: e.WakeAt})
	}
	for state, key := range map[journal.State]string{
		journal.Paused: "p", journal.Completed: "c", journal.Failed: "f", journal.Interrupted: "i",
	} {
		e := newExecution(key)
		e.State = state
		b.start(t, e)
	}
	never := newExecution("never")
	never.WakeAt = journal.Never
	b.start(t, never)
	slices.SortFunc(want, func(x, y journal.Wake) int {
		if x.At != y.At {
			return int(x.At - y.At)
		}
		return bytes.Compare(x.ID[:], y.ID[:])
	})

	all, err := b.store.Due(b.ctx, 1000, journal.Wake{}, 100)
	require.NoError(t, err)
	require.Equal(t, want, all)
	some, err := b.store.Due(b.ctx, 200, journal.Wake{}, 100)
	require.NoError(t, err)
	require.Equal(t, want[:12], some, "until is included")

	var paged []journal.Wake
	var after journal.Wake
	for {
		page, err := b.store.Due(b.ctx, journal.Never, after, 3)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), 3)
		paged = append(paged, page...)
		after = page[len(page)-1]
	}
	require.Equal(t, append(want, journal.Wake{ID: never.ID, At: journal.Never}), paged)

	w := b.write(want[0].ID)
	w.Update = &journal.Update{State: journal.Running, WakeAt: 950}
	b.commit(t, w)
	all, err = b.store.Due(b.ctx, 1000, journal.Wake{}, 100)
	require.NoError(t, err)
	require.Equal(
		t, append(slices.Clone(want[1:]), journal.Wake{ID: want[0].ID, At: 950}), all, "an update moves the wake",
	)
}

func testListPages(t *testing.T, b *bundle) {
	var want []journal.Execution
	for i := range 11 {
		e := newExecution(fmt.Sprint(i))
		e.CreatedAt = int64(100 + i/2)
		e.Value = []byte("value")
		e.Error = abi.Errorf(abi.CodePaused, "why")
		e.Interrupt = &journal.Interrupt{At: 1, Reason: "r"}
		b.start(t, e)
		e.Input, e.Value = nil, nil
		want = append(want, e)
	}
	slices.SortFunc(want, func(x, y journal.Execution) int {
		if x.CreatedAt != y.CreatedAt {
			return int(y.CreatedAt - x.CreatedAt)
		}
		return bytes.Compare(y.ID[:], x.ID[:])
	})
	var got []journal.Execution
	filter := journal.Filter{Namespace: "default", Limit: 4}
	for pages := 1; ; pages++ {
		page, err := b.store.List(b.ctx, filter)
		require.NoError(t, err)
		got = append(got, page.Executions...)
		if page.Next == "" {
			require.Equal(t, 3, pages)
			break
		}
		require.Len(t, page.Executions, 4)
		filter.After = page.Next
		// Executions that start meanwhile do not shift the pages.
		e := newExecution(fmt.Sprint("new ", pages))
		e.CreatedAt = 1000
		b.start(t, e)
	}
	require.Equal(t, want, got)

	exact, err := b.store.List(b.ctx, journal.Filter{Namespace: "default", Limit: 13})
	require.NoError(t, err)
	require.Len(t, exact.Executions, 13)
	require.Empty(t, exact.Next, "a full last page has no next")
}

func testListFilters(t *testing.T, b *bundle) {
	for i, row := range []struct {
		namespace, workflow string
		state               journal.State
	}{
		{"default", "orders/Process", journal.Running},
		{"default", "orders/Process", journal.Paused},
		{"default", "orders/ProcessAll", journal.Completed},
		{"default", "orders_x/Process", journal.Running},
		{"default", "ordersäx/Process", journal.Running},
		{"other", "orders/Process", journal.Running},
	} {
		e := newExecution(fmt.Sprint(i))
		e.Namespace, e.Workflow, e.State, e.CreatedAt = row.namespace, row.workflow, row.state, int64(i)
		b.start(t, e)
	}
	for name, c := range map[string]struct {
		filter journal.Filter
		want   []string
	}{
		"all":           {journal.Filter{}, []string{"5", "4", "3", "2", "1", "0"}},
		"namespace":     {journal.Filter{Namespace: "other"}, []string{"5"}},
		"no such":       {journal.Filter{Namespace: "missing"}, nil},
		"workflow":      {journal.Filter{Namespace: "default", Workflow: "orders/Process"}, []string{"1", "0"}},
		"deployment":    {journal.Filter{Namespace: "default", Workflow: "orders/"}, []string{"2", "1", "0"}},
		"underscore":    {journal.Filter{Workflow: "orders_x/"}, []string{"3"}},
		"not a pattern": {journal.Filter{Workflow: "orders%/"}, nil},
		"umlaut":        {journal.Filter{Workflow: "ordersäx/"}, []string{"4"}},
		"state":         {journal.Filter{State: journal.Running}, []string{"5", "4", "3", "0"}},
		"everything": {
			journal.Filter{Namespace: "default", Workflow: "orders/", State: journal.Paused}, []string{"1"},
		},
		"workflow anyone": {journal.Filter{Workflow: "orders/Process", Limit: 2}, []string{"5", "1"}},
	} {
		page, err := b.store.List(b.ctx, c.filter)
		require.NoError(t, err, name)
		var keys []string
		for _, e := range page.Executions {
			keys = append(keys, e.Key)
		}
		require.Equal(t, c.want, keys, name)
	}
}

func testListBounds(t *testing.T, b *bundle) {
	for i := range 105 {
		b.start(t, newExecution(fmt.Sprint(i)))
	}
	page, err := b.store.List(b.ctx, journal.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Executions, 100, "the default")
	for _, f := range []journal.Filter{
		{Limit: -1}, {Limit: 1001}, {After: "garbage"}, {After: "zz.00"}, {After: "1.00"},
	} {
		_, err := b.store.List(b.ctx, f)
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), "%+v", f)
	}
}

func testCallee(t *testing.T, b *bundle) {
	parent := b.start(t, newExecution("parent"))
	child := newExecution("child")
	child.Parent = callerOf(parent, 3)
	b.start(t, child)
	got, err := b.store.Callee(b.ctx, callerOf(parent, 3))
	require.NoError(t, err)
	require.Equal(t, &child, got)
	later := callerOf(parent, 3)
	later.Run[0] ^= 1
	for what, step := range map[string]journal.Caller{
		"another step":                     callerOf(parent, 4),
		"a step of the callee":             callerOf(child.ID, 3),
		"a later run of the same name":     later,
		"no step: not every row is linked": {},
	} {
		_, err = b.store.Callee(b.ctx, step)
		require.ErrorIs(t, err, journal.ErrNotFound, what)
	}
}

// testLinks is about executions that a step found instead of starting them.
func testLinks(t *testing.T, b *bundle) {
	caller := b.start(t, newExecution("caller"))
	callee := newExecution("callee")
	b.start(t, callee)
	w := b.write(caller)
	w.Link = &journal.Link{Step: stepOf(5), Callee: callee.ID, Chain: callee.Run}
	b.commit(t, w)
	got, err := b.store.Callee(b.ctx, callerOf(caller, 5))
	require.NoError(t, err)
	require.Equal(t, &callee, got)

	other := newExecution("other")
	b.start(t, other)
	w.Link = &journal.Link{Step: stepOf(5), Callee: other.ID, Chain: other.Run}
	w.Update = &journal.Update{State: journal.Failed}
	require.True(t, b.result(t, w).Existed, "the first link stands")
	got, err = b.store.Callee(b.ctx, callerOf(caller, 5))
	require.NoError(t, err)
	require.Equal(t, &callee, got)
	require.Equal(t, journal.Running, b.load(t, caller).State, "nothing of a write that came second takes effect")

	gone := journal.IDOf("default", "orders/Process", "gone")
	w.Update = nil
	for _, link := range []journal.Link{
		{Step: stepOf(6), Callee: gone, Chain: journal.RunID{1}},
		{Step: stepOf(6), Callee: other.ID, Chain: journal.RunID{1}}, // another run has the name by now
	} {
		w.Link = &link
		require.ErrorIs(t, b.result(t, w).Err, journal.ErrSwept)
		_, err = b.store.Callee(b.ctx, callerOf(caller, 6))
		require.ErrorIs(t, err, journal.ErrNotFound, "nothing of it took effect")
	}
}

func testPing(t *testing.T, b *bundle) {
	require.NoError(t, b.store.Ping(b.ctx))
	require.NoError(t, b.store.Close())
	require.Error(t, b.store.Ping(b.ctx))
}
