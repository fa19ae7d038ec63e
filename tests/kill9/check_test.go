package kill9_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// checkHost waits for every execution, and compares its state on the host with the replies to the clients. The
// result is in the record afterwards.
func checkHost(t *testing.T, c *client.Client, records []*record) {
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	for _, rec := range records {
		require.NoError(t, rec.refused, "%s of %s was refused", rec.kind, rec.execution)
		if rec.answer == silent && (rec.kind == "approval settled" || rec.kind == "approval interrupted") {
			continue // it may wait for a day
		}
		now := resultOf(ctx, client.Attach[any](c, rec.execution))
		require.NotNil(t, now, "%s was acknowledged and does not end", rec.execution)
		if rec.result != nil {
			require.Equal(t, *rec.result, *now, "a client was told another result of %s", rec.execution)
		}
		rec.result = now
		checkResult(t, rec)
		checkInterrupt(ctx, t, c, rec)
	}
}

// checkResult checks that an execution ended as it had to, after the acknowledged requests.
func checkResult(t *testing.T, rec *record) {
	state := rec.result.state
	switch rec.kind {
	case "order", "transfer", "approval settled":
		require.Equal(t, client.Completed, state, "%+v: %+v", rec, rec.result)
	case "order interrupted":
		// The order may have been over, or past its last wait.
		require.Contains(t, []client.State{client.Completed, client.Interrupted}, state, "%+v: %+v", rec, rec.result)
	case "approval interrupted":
		require.Equal(t, client.Interrupted, state, "%+v: %+v", rec, rec.result)
	}
	if rec.kind == "approval settled" {
		require.JSONEq(
			t, fmt.Sprintf(`{"document": %q, "status": "approved", "by": %q}`, rec.key, rec.by()), rec.result.value,
		)
	}
}

// checkInterrupt compares the reply to an interrupt with the host's record of it. An interrupt that was taken is
// there, with the reason of this request. If the host answered that the execution has ended, then it had; and it has
// either this very request, from a try that got no reply, or none, and then the execution ended by itself. An execution
// that ends as interrupted was interrupted, and its guest was told so.
func checkInterrupt(ctx context.Context, t *testing.T, c *client.Client, rec *record) {
	described, err := c.Workflows().GetExecution(
		ctx, &crusterv1.GetExecutionRequest{
			View: crusterv1.ExecutionView_EXECUTION_VIEW_FULL, Execution: rec.execution,
		},
	)
	require.NoError(t, err)
	recorded := described.GetExecution().GetInterruption()
	if recorded != nil {
		require.Contains(t, rec.kind, "interrupted", "no client interrupted %s", rec.execution)
		require.Equal(t, rec.reason(), recorded.GetReason(), "%s was interrupted by another request", rec.execution)
	}
	if strings.Contains(rec.kind, "interrupted") && rec.answer == taken {
		require.NotNil(t, recorded, "the interrupt of %s was acknowledged and is gone", rec.execution)
	}
	if rec.polled != "" {
		require.True(t, rec.polled.Final(), "%s was over and then %s", rec.execution, rec.polled)
		require.Equal(t, rec.polled, rec.result.state, "%s was over and ended again", rec.execution)
	}
	if rec.result.state == client.Interrupted {
		require.NotNil(t, recorded, "%s ended as interrupted and was not", rec.execution)
		require.True(
			t, toldOfInterrupt(ctx, t, c, rec.execution), "%s ended as interrupted and its guest was not told",
			rec.execution,
		)
	}
}

// toldOfInterrupt tells whether the journal of an execution has the delivery of an interrupt.
func toldOfInterrupt(ctx context.Context, t *testing.T, c *client.Client, execution string) bool {
	history, err := c.Workflows().ListHistory(ctx, &crusterv1.ListHistoryRequest{Execution: execution})
	require.NoError(t, err)
	require.Zero(t, history.GetNext())
	return slices.ContainsFunc(history.GetEntries(), func(en *crusterv1.HistoryEntry) bool {
		return en.GetKind() == string(journal.Delivery) && en.GetOpKind() == abi.OpInterrupted
	})
}

// checkStore checks in the store that everything happened exactly once, and at the payment service that every call was
// made, under one key.
func checkStore(t *testing.T, s journal.Store, records []*record, p *payments) {
	tx, err := s.BeginGuest(t.Context(), host.DefaultNamespace)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.Background())) }()
	query := func(sql string) [][]any {
		_, rows, err := tx.Query(t.Context(), sql, nil)
		require.NoError(t, err)
		return rows
	}
	require.Empty(t, query(`SELECT execution, step FROM order_effects GROUP BY execution, step HAVING COUNT(*) > 1`),
		"a step of an order took effect twice")
	require.Empty(t, query(`SELECT execution, step FROM approval_effects GROUP BY execution, step HAVING COUNT(*) > 1`),
		"a step of an approval took effect twice")
	require.Empty(
		t, query(`SELECT transfer_id FROM ledger GROUP BY transfer_id HAVING COUNT(*) > 1`),
		"a transfer was booked twice",
	)
	require.Equal(
		t, fmt.Sprint(accounts*opening), fmt.Sprint(query(`SELECT SUM(balance_cents) FROM accounts`)[0][0]),
		"money was made or lost",
	)

	orders, approvals, transfers := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, row := range query(`SELECT order_id, status FROM orders`) {
		orders[row[0].(string)] = row[1].(string)
	}
	for _, row := range query(`SELECT document, status, decided_by FROM approvals`) {
		approvals[row[0].(string)] = fmt.Sprint(row[1], " ", row[2])
	}
	for _, row := range query(`SELECT transfer_id FROM ledger`) {
		transfers[row[0].(string)] = true
	}
	charged := map[string][]string{}
	for _, row := range query(`SELECT order_id, charge_id, status FROM charges`) {
		charged[row[0].(string)] = append(charged[row[0].(string)], fmt.Sprint(row[1], " ", row[2]))
	}
	for _, rec := range records {
		switch {
		case rec.kind == "transfer":
			require.True(t, transfers[rec.key], "%s was acknowledged but is not in the store", rec.execution)
		case rec.kind == "approval settled" && rec.answer == taken:
			require.Equal(t, "approved "+rec.by(), approvals[rec.key], rec.execution)
		case rec.kind == "order" || rec.kind == "order interrupted":
			p.check(t, rec, orders[rec.key], charged[rec.key])
		}
	}
	counts, answers := map[string]int{}, map[answer]int{}
	for _, rec := range records {
		counts[rec.kind]++
		if strings.Contains(rec.kind, " ") {
			answers[rec.answer]++
		}
	}
	t.Logf("%v; settles and interrupts: %d without a reply, %d taken, %d of executions that were over",
		counts, answers[silent], answers[taken], answers[over])
	require.Positive(t, answers[taken], "no settle and no interrupt was acknowledged")
	for _, kind := range kinds {
		require.Positive(t, counts[kind], "no client asked for this: %s", kind)
	}
}

// check holds an order, as the store has it, against the calls that were made for it.
func (p *payments) check(t *testing.T, rec *record, status string, charges []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	called, refunded := slices.Collect(maps.Keys(p.charges[rec.key])), slices.Collect(maps.Keys(p.refunds[rec.key]))
	require.LessOrEqual(
		t, len(called), 1, "the idempotency key of the charge of %s is not stable: %v", rec.execution, called,
	)
	require.LessOrEqual(
		t, len(refunded), 1, "the idempotency key of the refund of %s is not stable: %v", rec.execution, refunded,
	)
	require.NotContains(t, append(called, refunded...), "", "a call without a key for %s", rec.execution)
	if len(refunded) == 1 {
		require.NotEqual(t, called, refunded, "charge and refund of %s have one key", rec.execution)
	}
	var want []string
	switch status {
	case "confirmed":
		require.Len(t, called, 1, "%s is confirmed and was not charged", rec.execution)
		require.Empty(t, refunded, "%s is confirmed and was refunded", rec.execution)
		want = []string{"ch_" + called[0] + " taken"}
	case "cancelled":
		require.Len(t, refunded, 1, "%s is cancelled and was not refunded", rec.execution)
		if len(called) == 1 {
			want = []string{"ch_" + called[0] + " refunded"}
		}
	default:
		require.Fail(t, "an order is confirmed or cancelled in the end", "%s is %q", rec.execution, status)
	}
	require.Equal(t, want, charges, rec.execution)
	if rec.result.state == client.Completed {
		require.Equal(t, "confirmed", status, rec.execution)
		var result struct {
			ChargeID string `json:"charge_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(rec.result.value), &result))
		require.Equal(t, "ch_"+called[0], result.ChargeID)
	}
}
