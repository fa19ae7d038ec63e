package rpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/journal"
)

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.history = func(_ context.Context, _, _ string, after uint64, limit int) ([]journal.Entry, error) {
		var page []journal.Entry
		for seq := after + 1; seq <= 3 && len(page) < limit; seq++ {
			page = append(page, journal.Entry{Seq: seq, Kind: journal.Delivery, Op: journal.Op{Kind: "sleep", Number: uint32(seq)}, Value: abi.Nil, NextAt: journal.Never})
		}
		return page, nil
	}

	first, err := b.workflows.History(t.Context(), &crusterv1.HistoryRequest{Execution: "a/B/c", PageSize: 2})
	require.NoError(t, err)
	require.Len(t, first.GetEntries(), 2)
	require.EqualValues(t, 2, first.GetNext())
	require.Nil(t, first.GetEntries()[0].GetNextAt())
	rest, err := b.workflows.History(t.Context(), &crusterv1.HistoryRequest{Execution: "a/B/c", PageSize: 2, After: first.GetNext()})
	require.NoError(t, err)
	require.Len(t, rest.GetEntries(), 1)
	require.Zero(t, rest.GetNext())
}

func TestHeavyHistoryEndsEarly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	value := abi.MustMarshal(make([]byte, 100<<10))
	b.engine.history = func(_ context.Context, _, _ string, after uint64, limit int) ([]journal.Entry, error) {
		require.LessOrEqual(t, limit, 64)
		var page []journal.Entry
		for range limit {
			after++
			page = append(page, journal.Entry{Seq: after, Kind: journal.Delivery, Value: value})
		}
		return page, nil
	}

	page, err := b.workflows.History(t.Context(), &crusterv1.HistoryRequest{
		Execution: "a/B/c", PageSize: 1000, Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
	}, grpc.MaxCallRecvMsgSize(64<<20))
	require.NoError(t, err)
	require.Len(t, page.GetEntries(), 64)
	require.EqualValues(t, 64, page.GetNext())
}

func TestListPassesTheFilterOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.list = func(_ context.Context, f journal.Filter) (journal.Page, error) {
		require.Equal(t, journal.Filter{Namespace: "acme", Workflow: "shop/", State: journal.Paused, After: "c1", Limit: 7}, f)
		return journal.Page{Executions: []journal.Execution{{Workflow: "shop/Buy", Key: "k", State: journal.Paused}}, Next: "c2"}, nil
	}

	resp, err := b.workflows.List(t.Context(), &crusterv1.ListRequest{Namespace: "acme", Workflow: "shop/", State: crusterv1.State_STATE_PAUSED, PageToken: "c1", PageSize: 7})
	require.NoError(t, err)
	require.Equal(t, "c2", resp.GetNextPageToken())
	require.Equal(t, crusterv1.State_STATE_PAUSED, resp.GetExecutions()[0].GetState())
}
