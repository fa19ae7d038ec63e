package grpcserver_test

import (
	"context"
	"io"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// listOf lists executions two a page, like an engine would.
func listOf(executions func() []journal.Execution) func(context.Context, journal.Filter) (journal.Page, error) {
	return func(_ context.Context, f journal.Filter) (journal.Page, error) {
		var page journal.Page
		from, _ := strconv.Atoi(f.After)
		for i, e := range executions() {
			if e.State != f.State || i < from {
				continue
			}
			if len(page.Executions) == 2 {
				page.Next = strconv.Itoa(i)
				break
			}
			page.Executions = append(page.Executions, e)
		}
		return page, nil
	}
}

// One execution that cannot be moved does not stop the others, and the answers tell the outcome of
// each.
func TestMoveAllGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.list = listOf(func() []journal.Execution {
		return []journal.Execution{
			open("a", journal.Running, "old"), open("unfit", journal.Running, "old"), open("c", journal.Running, "old"),
			open("over", journal.Paused, "old"), open("damaged", journal.Paused, "old"),
			open("e", journal.Paused, "older"),
		}
	})
	var mu sync.Mutex
	var asked []string // guarded by mu
	b.engine.move = func(_ context.Context, _, execution, to string) (*journal.Execution, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, execution)
		require.Equal(t, host.Latest, to)
		switch execution {
		case "shop/Buy/unfit":
			return nil, unfit(execution)
		case "shop/Buy/over":
			return nil, abi.Errorf(abi.CodeAlreadyOver, "%s is completed", execution)
		case "shop/Buy/damaged":
			return nil, journal.Coded("move it", &journal.DamagedEntry{Seq: 2, Cause: io.ErrUnexpectedEOF})
		}
		e := open(execution[len("shop/Buy/"):], journal.Running, "new")
		return &e, nil
	}

	all, err := b.moveAll(t, &crusterv1.MoveExecutionsRequest{Workflow: "shop/"})
	require.NoError(t, err)
	slices.Sort(asked)
	require.Equal(
		t, []string{"shop/Buy/a", "shop/Buy/c", "shop/Buy/damaged", "shop/Buy/e", "shop/Buy/over", "shop/Buy/unfit"},
		asked,
	)
	var got []string
	for i, resp := range all {
		require.EqualValues(t, i+1, resp.GetDone())
		r := resp.GetResult()
		got = append(
			got,
			r.GetExecution().GetKey()+" "+r.GetFromDigest()+" "+r.GetExecution().GetDigest()+" "+r.GetError().GetCode(),
		)
	}
	require.Equal(
		t, []string{"a old new ", "unfit old old CR-2031", "c old new ", "damaged old old CR-2021", "e older new "},
		got, "one that is over meanwhile is left out",
	)
	require.Equal(t, "activity charge", all[1].GetResult().GetDiff().GetRows()[0].GetCode())

	asked = nil
	all, err = b.moveAll(t, &crusterv1.MoveExecutionsRequest{Workflow: "shop/Buy", State: crusterv1.State_STATE_PAUSED})
	require.NoError(t, err)
	require.Len(t, all, 2, "only those that are paused")
}

// An execution that is paused in between is listed twice, and moved once.
func TestMoveAllMovesEachOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	state := journal.Running // guarded by mu
	b.engine.list = listOf(func() []journal.Execution {
		mu.Lock()
		defer mu.Unlock()
		return []journal.Execution{open("a", state, "old")}
	})
	b.engine.move = func(context.Context, string, string, string) (*journal.Execution, error) {
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, journal.Running, state)
		state = journal.Paused
		e := open("a", journal.Running, "new")
		return &e, nil
	}

	all, err := b.moveAll(t, &crusterv1.MoveExecutionsRequest{Workflow: "shop/"})
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// A store that is away would fail every execution: the stream ends with the reason, after the
// completed moves.
func TestMoveAllStopsWithTheStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.list = listOf(func() []journal.Execution {
		return []journal.Execution{
			open("a", journal.Running, "old"), open("b", journal.Running, "old"), open("c", journal.Running, "old"),
		}
	})
	b.engine.move = func(_ context.Context, _, execution, _ string) (*journal.Execution, error) {
		if execution == "shop/Buy/b" {
			return nil, abi.Errorf(abi.CodeStore, "it is away")
		}
		require.Equal(t, "shop/Buy/a", execution)
		e := open("a", journal.Running, "new")
		return &e, nil
	}

	all, err := b.moveAll(t, &crusterv1.MoveExecutionsRequest{Workflow: "shop/"})
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.Unavailable, st.Code())
	require.Equal(t, string(abi.CodeStore), wire.GetCode())
	require.Len(t, all, 1)
}

// A mistake in the request is told once, not for each execution.
func TestMoveAllOfNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.require = func(_ context.Context, namespace, workflow string) error {
		return abi.Errorf(abi.CodeUnknownWorkflow, "%s has no %s", namespace, workflow)
	}
	all, err := b.moveAll(t, &crusterv1.MoveExecutionsRequest{Workflow: "shop/By"})
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.NotFound, st.Code())
	require.Equal(t, "default has no shop/By", wire.GetMessage())
	require.Empty(t, all)

	b.engine.require = nil
	b.engine.list = listOf(func() []journal.Execution {
		return []journal.Execution{open("a", journal.Running, "old"), open("b", journal.Running, "old")}
	})
	b.engine.move = func(context.Context, string, string, string) (*journal.Execution, error) {
		return nil, abi.Errorf(abi.CodeModuleNotFound, "there is no module %q", "fedc")
	}
	all, err = b.moveAll(t, &crusterv1.MoveExecutionsRequest{Workflow: "shop/", To: "fedc"})
	_, _, wire, _ = detailsOf(t, err)
	require.Equal(t, string(abi.CodeModuleNotFound), wire.GetCode())
	require.Empty(t, all)
}

func pushed(b *testBundle, digest string) {
	b.engine.push = func(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error) {
		info, err := shop(ctx, req.Namespace, req.Name)
		info.Digest = digest
		return info, err
	}
}

func TestPushMovesWhatIsOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pushed(b, "new")
	b.engine.list = listOf(func() []journal.Execution {
		return []journal.Execution{
			open("a", journal.Running, "old"), open("there", journal.Running, "new"),
			open("unfit", journal.Running, "old"), open("d", journal.Paused, "old"),
		}
	})
	b.engine.move = func(_ context.Context, _, execution, to string) (*journal.Execution, error) {
		require.Equal(t, "new", to, "another push may have changed what is latest")
		require.NotEqual(t, "shop/Buy/there", execution)
		if execution == "shop/Buy/unfit" {
			return nil, unfit(execution)
		}
		e := open("x", journal.Running, "new")
		return &e, nil
	}

	resp, err := b.modules.PushModule(t.Context(), &crusterv1.PushModuleRequest{
		Metadata: &crusterv1.PushMetadata{Name: "shop", MoveOpen: true}, Binary: []byte("wasm"),
	})
	require.NoError(t, err)
	require.EqualValues(t, 2, resp.GetResult().GetMoved())
	require.EqualValues(t, 1, resp.GetResult().GetUnmoved())
	require.Equal(t, "shop/Buy/unfit", resp.GetResult().GetFirstUnmoved().GetExecution().GetName())
	require.NotEmpty(t, resp.GetResult().GetFirstUnmoved().GetDiff().GetRows())

	b.engine.move = func(context.Context, string, string, string) (*journal.Execution, error) {
		return nil, abi.Errorf(abi.CodeStore, "it is away")
	}
	_, err = b.modules.PushModule(t.Context(), &crusterv1.PushModuleRequest{
		Metadata: &crusterv1.PushMetadata{Name: "shop", MoveOpen: true}, Binary: []byte("wasm"),
	})
	_, _, wire, _ := detailsOf(t, err)
	require.Equal(t, string(abi.CodeStore), wire.GetCode())
	require.Contains(
		t, wire.GetMessage(), "version 2 of shop is deployed; of its open executions 0 were moved before this failed",
	)
}
