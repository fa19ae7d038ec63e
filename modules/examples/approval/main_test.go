package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

func TestRequestApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision crustertest.Option
		want     ApprovalResult
		after    time.Duration
	}{
		"approved": {
			crustertest.ResolveAfter(time.Hour, Approved, Decision{Approved: true, By: "ada"}),
			ApprovalResult{Document: "budget", Status: "approved", By: "ada"},
			time.Hour,
		},
		"approved as soon as it can be": {
			crustertest.When(
				crustertest.Reached("deferred approved"),
				crustertest.ResolveAfter(0, Approved, Decision{Approved: true, By: "ada"}),
			),
			ApprovalResult{Document: "budget", Status: "approved", By: "ada"},
			0,
		},
		"declined": {
			crustertest.ResolveAfter(time.Hour, Approved, Decision{By: "ada", Comment: "too much"}),
			ApprovalResult{Document: "budget", Status: "rejected", By: "ada", Comment: "too much"},
			time.Hour,
		},
		"rejected": {
			crustertest.RejectAfter(time.Hour, Approved, errors.New("no such document")),
			ApprovalResult{Document: "budget", Status: "rejected", Comment: "no such document"},
			time.Hour,
		},
		"too late": {
			crustertest.ResolveAfter(25*time.Hour, Approved, Decision{Approved: true, By: "ada"}),
			ApprovalResult{Document: "budget", Status: "timed_out"},
			24 * time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := sqltest.Open(t)
			var h crustertest.History
			res, err := crustertest.Run(t, RequestApproval, ApprovalRequest{Document: "budget"},
				crustertest.SQLite(db), c.decision, crustertest.Record(&h))
			require.NoError(t, err)
			require.Equal(t, c.want, res)
			require.Equal(t, c.after, h.Duration())
			crustertest.Replay(t, &h)
			require.Equal(t, []string{c.want.Status}, sqltest.List(t, db, `SELECT status FROM approvals`))
			require.Equal(t, []string{"open", "close"}, sqltest.List(t, db, `SELECT step FROM approval_effects`))
		})
	}
}

func TestWithdrawnApproval(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	_, err := crustertest.Run(t, RequestApproval, ApprovalRequest{Document: "budget", TimeoutMS: 1000},
		crustertest.SQLite(db), crustertest.InterruptAfter(time.Millisecond, "withdrawn by its author"))
	require.Equal(t, string(abi.CodeInterrupted), cruster.ErrorCode(err))
	require.Equal(t, []string{"withdrawn"}, sqltest.List(t, db, `SELECT status FROM approvals`))
}
