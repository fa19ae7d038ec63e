package crustertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// manyTimers sets timers in one turn, and waits for the last.
var manyTimers = cruster.NewWorkflow("limitsTimers", func(ctx cruster.Context, n int) (int, error) {
	var last cruster.Future[cruster.None]
	for range n {
		last = cruster.Timer(ctx, time.Hour)
	}
	_, err := last.Await(ctx)
	return n, err
})

// A host counts the ops of a turn.
func TestTooMany(t *testing.T) {
	t.Parallel()
	n, err := crustertest.Run(t, manyTimers, abi.MaxOpsPerTurn)
	require.NoError(t, err)
	require.Equal(t, abi.MaxOpsPerTurn, n)

	_, err = crustertest.Run(t, manyTimers, abi.MaxOpsPerTurn+1)
	require.ErrorContains(t, err, "CR-4003: the workflow issued more than 10000 ops without waiting for one")
}

var talkative = cruster.NewWorkflow("limitsTalk", func(ctx cruster.Context, n int) (int, error) {
	for range n {
		cruster.Logger(ctx).Info(strings.Repeat("x", 1000))
	}
	return n, cruster.Sleep(ctx, time.Hour)
})

// A host keeps 256 KiB of the log of a turn.
func TestTooMuchLog(t *testing.T) {
	t.Parallel()
	log := &loud{TB: t}
	_, err := crustertest.Run(log, talkative, 1000)
	require.NoError(t, err)
	lines := log.lines()
	require.Less(t, len(lines), 262)
	require.Contains(
		t, lines[len(lines)-1],
		"a host drops the rest of what the workflow logs in this turn: it is more than 262144 bytes",
	)
}

type hoard struct {
	Text string `json:"text"`
}

var hoards = cruster.NewStatefulEntity[hoard]("LimitsHoard")

var keep = cruster.NewOperation(hoards, "keep", func(_ *cruster.EntityContext, h *hoard, n int) (int, error) {
	h.Text = strings.Repeat("x", n)
	return n, nil
})

var spread = cruster.NewOperation(hoards, "spread", func(ctx *cruster.EntityContext, h *hoard, n int) (int, error) {
	h.Text = "spread"
	for range n {
		if err := keep.On("other").Send(ctx, 1); err != nil {
			return 0, err
		}
	}
	return n, nil
})

var absent = cruster.NewOperation(
	cruster.NewStatefulEntity[hoard]("LimitsAbsent"),
	"x",
	func(*cruster.EntityContext, *hoard, int) (int, error) {
		return 0, nil
	},
)

var strayed = cruster.NewOperation(
	hoards,
	"strayed",
	func(ctx *cruster.EntityContext, h *hoard, _ cruster.None) (int, error) {
		h.Text = "strayed"
		if err := keep.On("other").Send(ctx, 1); err != nil {
			return 0, err
		}
		return 0, absent.On("x\n").Send(ctx, 1)
	},
)

// An operation that leaves behind too much, or sends an invalid message, fails and has done
// nothing.
func TestOperationsThatAreRefused(t *testing.T) {
	t.Parallel()
	e := crustertest.NewEntities(t)
	_, err := crustertest.Call(e, keep, "a", abi.MaxState)
	require.Equal(t, string(abi.CodePayloadTooLarge), cruster.ErrorCode(err), "%v", err)
	require.ErrorContains(t, err, "the limit is 2097152")

	_, err = crustertest.Call(e, spread, "a", 1001)
	require.Equal(t, string(abi.CodeOperationCrashed), cruster.ErrorCode(err), "%v", err)
	require.ErrorContains(t, err, `operation "spread": an operation sent 1001 messages, the limit is 1000`)

	_, err = crustertest.Call(e, strayed, "a", cruster.None{})
	require.Equal(t, string(abi.CodeEntityName), cruster.ErrorCode(err), "%v", err)
	require.Empty(t, e.Names())
}
