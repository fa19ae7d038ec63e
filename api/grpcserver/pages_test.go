package grpcserver_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/journal"
)

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.history = func(
		_ context.Context, _, _ string, after uint64, limit int,
	) (page []journal.Entry, more bool, err error) {
		for seq := after + 1; seq <= 3 && len(page) < limit; seq++ {
			page = append(page, journal.Entry{
				Seq:    seq,
				Kind:   journal.Delivery,
				Op:     journal.Op{Kind: "sleep", Number: uint32(seq)},
				Value:  abi.Nil,
				NextAt: journal.Never,
			})
		}
		return page, after+uint64(len(page)) < 3, nil
	}

	first, err := b.workflows.ListHistory(t.Context(), &crusterv1.ListHistoryRequest{Execution: "a/B/c", PageSize: 2})
	require.NoError(t, err)
	require.Len(t, first.GetEntries(), 2)
	require.EqualValues(t, 2, first.GetNext())
	require.Nil(t, first.GetEntries()[0].GetNextTime())
	rest, err := b.workflows.ListHistory(t.Context(), &crusterv1.ListHistoryRequest{
		Execution: "a/B/c", PageSize: 2, After: first.GetNext(),
	})
	require.NoError(t, err)
	require.Len(t, rest.GetEntries(), 1)
	require.Zero(t, rest.GetNext())
}

// TestDamagedHistory has the entries before an undecodable one, and then its error.
func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.history = func(_ context.Context, _, _ string, after uint64, _ int) ([]journal.Entry, bool, error) {
		if after == 1 {
			return nil, false, journal.Coded("history", &journal.DamagedEntry{Seq: 2, Cause: io.ErrUnexpectedEOF})
		}
		return []journal.Entry{{
			Seq:    1,
			Kind:   journal.Delivery,
			Op:     journal.Op{Kind: "sleep", Number: 1},
			Value:  abi.Nil,
			NextAt: journal.Never,
		}}, true, nil
	}
	first, err := b.workflows.ListHistory(t.Context(), &crusterv1.ListHistoryRequest{Execution: "a/B/c"})
	require.NoError(t, err)
	require.Len(t, first.GetEntries(), 1)
	require.EqualValues(t, 1, first.GetNext())
	_, err = b.workflows.ListHistory(
		t.Context(), &crusterv1.ListHistoryRequest{Execution: "a/B/c", After: first.GetNext()},
	)
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.ErrorContains(t, err, "entry 2,")
}

// TestLargeHistory pages through journals of large entries with a client with the default limit of
// gRPC clients: 4 MiB a message.
func TestLargeHistory(t *testing.T) {
	t.Parallel()
	largest := abi.MustMarshal(make([]byte, abi.MaxPayload-5))
	require.Len(t, largest, abi.MaxPayload)
	nulls := make([]any, abi.MaxPayload/3) // three times as large as JSON
	text := abi.MustMarshal(strings.Repeat("\x00", 1<<20))
	for name, test := range map[string]struct {
		value []byte
		as    crusterv1.Encoding
		pages []int
		omits bool
	}{
		"many to a page": {
			abi.MustMarshal(make([]byte, 500<<10)), crusterv1.Encoding_ENCODING_MSGPACK, []int{8, 4}, false,
		},
		"many to a page, as JSON": {
			abi.MustMarshal(make([]byte, 500<<10)), crusterv1.Encoding_ENCODING_JSON, []int{6, 6}, false,
		},
		"the largest": {
			largest, crusterv1.Encoding_ENCODING_MSGPACK, slices.Repeat([]int{1}, 12), false,
		},
		"the largest, as JSON": {largest, crusterv1.Encoding_ENCODING_JSON, []int{12}, true},
		"grows in JSON, but fits": {
			abi.MustMarshal(nulls[:abi.MaxPayload/6]), crusterv1.Encoding_ENCODING_JSON, []int{1, 1}, false,
		},
		"grows in JSON, does not fit":  {abi.MustMarshal(nulls), crusterv1.Encoding_ENCODING_JSON, []int{2}, true},
		"escapes in JSON, do not fit":  {text, crusterv1.Encoding_ENCODING_JSON, []int{12}, true},
		"escapes in JSON, and msgpack": {text, crusterv1.Encoding_ENCODING_MSGPACK, []int{3, 3, 3, 3}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries := uint64(0)
			for _, page := range test.pages {
				entries += uint64(page)
			}
			b := setup(t)
			b.engine.history = func(
				_ context.Context, _, _ string, after uint64, limit int,
			) (page []journal.Entry, more bool, err error) {
				room := journal.PageLimit{Entries: limit}.Room()
				for seq := after + 1; seq <= entries; seq++ {
					if !room.Take(len(test.value)) {
						return page, true, nil
					}
					page = append(page, journal.Entry{Seq: seq, Kind: journal.Delivery, Value: test.value})
				}
				return page, false, nil
			}
			var pages []int
			after := uint64(0)
			for {
				page, err := b.workflows.ListHistory(t.Context(), &crusterv1.ListHistoryRequest{
					Execution: "a/B/c", PageSize: 1000, After: after, Encoding: test.as,
				})
				require.NoError(t, err)
				for _, e := range page.GetEntries() {
					after++
					require.Equal(t, after, e.GetSeq())
					require.Equal(t, test.omits, e.GetValue() == nil)
					if test.omits {
						require.EqualValues(t, len(test.value), e.GetOmittedBytes())
					}
				}
				pages = append(pages, len(page.GetEntries()))
				if page.GetNext() == 0 {
					break
				}
				require.Equal(t, after, page.GetNext())
			}
			require.Equal(t, test.pages, pages)
		})
	}
}

// TestAnEmptyListOfAnUnknownWorkflow is an error; an empty list of a known one, or on a further
// page, is not.
func TestAnEmptyListOfAnUnknownWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.list = func(context.Context, journal.Filter) (journal.Page, error) { return journal.Page{}, nil }
	b.engine.require = func(_ context.Context, namespace, workflow string) error {
		require.Equal(t, "acme", namespace)
		if workflow == "shop/Buy" {
			return nil
		}
		return abi.Errorf(abi.CodeUnknownWorkflow, "unknown")
	}
	for _, test := range []struct {
		workflow, after string
		code            abi.Code
	}{
		{"", "", ""},
		{"shop/Buy", "", ""},
		{"shop/By", "", abi.CodeUnknownWorkflow},
		{"shop/By", "c1", ""},
		{"shop", "", abi.CodeBadRequest},
	} {
		_, err := b.workflows.ListExecutions(t.Context(), &crusterv1.ListExecutionsRequest{
			Namespace: "acme", Workflow: test.workflow, PageToken: test.after,
		})
		require.Equal(t, test.code, abi.CodeOf(rpcerror.From(err)), "%+v: %v", test, err)
	}
}

func TestListPassesTheFilterOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.list = func(_ context.Context, f journal.Filter) (journal.Page, error) {
		require.Equal(
			t, journal.Filter{Namespace: "acme", Workflow: "shop/", State: journal.Paused, After: "c1", Limit: 7}, f,
		)
		return journal.Page{
			Executions: []journal.Execution{{Workflow: "shop/Buy", Key: "k", State: journal.Paused}}, Next: "c2",
		}, nil
	}

	resp, err := b.workflows.ListExecutions(t.Context(), &crusterv1.ListExecutionsRequest{
		Namespace: "acme", Workflow: "shop/", State: crusterv1.State_STATE_PAUSED, PageToken: "c1", PageSize: 7,
	})
	require.NoError(t, err)
	require.Equal(t, "c2", resp.GetNextPageToken())
	require.Equal(t, crusterv1.State_STATE_PAUSED, resp.GetExecutions()[0].GetState())
}

// TestLargeLists lists executions that failed with as much to say as is let through.
func TestLargeLists(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failure := abi.Errorf(abi.CodeWorkflowFailed, "%s", strings.Repeat("x", 16<<10)).WithHint(
		"%s", strings.Repeat("y", 16<<10),
	)
	failure.Details = make([]byte, 2<<10)
	const all = 1500
	b.engine.list = func(_ context.Context, f journal.Filter) (journal.Page, error) {
		limit, after, err := f.Bounds()
		if err != nil {
			return journal.Page{}, err
		}
		from := int64(all)
		if f.After != "" {
			from = after.At - 1
		}
		var rows []journal.Execution
		for at := from; at > 0 && len(rows) <= limit; at-- {
			rows = append(
				rows,
				journal.Listed(journal.Execution{
					Key: strings.Repeat("k", abi.MaxKey), State: journal.Failed, CreatedAt: at, Error: failure,
				}),
			)
		}
		return journal.PageOf(rows, limit), nil
	}
	left, pages := all, 0
	for token := ""; ; pages++ {
		page, err := b.workflows.ListExecutions(
			t.Context(), &crusterv1.ListExecutionsRequest{PageSize: 1000, PageToken: token},
		)
		require.NoError(t, err)
		for _, e := range page.GetExecutions() {
			require.EqualValues(t, left, e.GetCreateTime().GetNanos())
			left--
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	require.Zero(t, left)
	require.Less(t, pages, 8)
}
