package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Order is the input of Reserve.
type Order struct {
	OrderID    string `json:"order_id"`
	Email      string `json:"email"`
	Items      []Item `json:"items"`
	TotalCents int64  `json:"total_cents"`
}

// Reserve stores the order and its reservations.
var Reserve = cruster.NewActivity(
	"reserve", reserve, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond),
)

func reserve(ctx *cruster.ActivityContext, o Order) (int, error) {
	tx := ctx.Tx()
	_, err := tx.Exec(`INSERT INTO orders (order_id, email, total_cents, status) VALUES ($1, $2, $3, 'reserved')
		ON CONFLICT (order_id) DO UPDATE SET status = 'reserved'`, o.OrderID, o.Email, o.TotalCents)
	if err != nil {
		return 0, err
	}
	for _, i := range o.Items {
		_, err := tx.Exec(
			`INSERT INTO reservations (order_id, sku, quantity) VALUES ($1, $2, $3)`, o.OrderID, i.SKU, i.Quantity,
		)
		if err != nil {
			return 0, err
		}
	}
	return len(o.Items), record(ctx, "reserve")
}

// ChargeRequest is the input of Charge.
type ChargeRequest struct {
	OrderID     string `json:"order_id"`
	AmountCents int64  `json:"amount_cents"`
	FailFirst   int    `json:"fail_first"`
}

// ChargeResult is the output of Charge.
type ChargeResult struct {
	ID string `json:"id"`
}

// Charge takes the money: through the payment service if there is one, and in the table of charges. The idempotency key
// of the step is the id of the charge.
var Charge = cruster.NewActivity("charge", charge,
	cruster.Retries(5), cruster.ExponentialBackoff(200*time.Millisecond), cruster.Jitter(0.2),
	cruster.Timeout(30*time.Second),
)

func charge(ctx *cruster.ActivityContext, req ChargeRequest) (ChargeResult, error) {
	if ctx.Attempt() <= req.FailFirst {
		return ChargeResult{}, cruster.Errorf(
			"payment_unavailable", "the payment service is busy (attempt %d)", ctx.Attempt(),
		)
	}
	id := "ch_" + ctx.IdempotencyKey()
	// The call goes out before the first statement: a transaction must not wait for the network.
	if err := pay(ctx, "", map[string]any{
		"id": id, "order_id": req.OrderID, "amount_cents": req.AmountCents,
	}); err != nil {
		return ChargeResult{}, err
	}
	_, err := ctx.Tx().Exec(
		`INSERT INTO charges (charge_id, order_id, amount_cents, attempt, status) VALUES ($1, $2, $3, $4, 'taken')`,
		id, req.OrderID, req.AmountCents, ctx.Attempt(),
	)
	if err != nil {
		return ChargeResult{}, err
	}
	return ChargeResult{ID: id}, record(ctx, "charge")
}

// Confirmation is the input of Confirm.
type Confirmation struct {
	OrderID  string `json:"order_id"`
	ChargeID string `json:"charge_id"`
}

// Confirm marks the order as confirmed.
var Confirm = cruster.NewActivity(
	"confirm", confirm, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond),
)

func confirm(ctx *cruster.ActivityContext, c Confirmation) (bool, error) {
	n, err := ctx.Tx().Exec(
		`UPDATE orders SET status = 'confirmed', charge_id = $1 WHERE order_id = $2`, c.ChargeID, c.OrderID,
	)
	if err != nil {
		return false, err
	}
	if n != 1 {
		return false, cruster.NonRetryable(cruster.Errorf("unknown_order", "there is no order %s", c.OrderID))
	}
	return true, record(ctx, "confirm")
}

// Cancel undoes an order: the money goes back, the reservations go. The payment service is told the order and not the
// charge, because a charge whose answer was lost has no id here; it gives back whatever it took for the order.
//
// Money that does not go back is worse than an order that takes long to end: hence the many attempts, over an hour and
// a half.
var Cancel = cruster.NewActivity("cancel", cancel,
	cruster.Retries(100), cruster.ExponentialBackoff(100*time.Millisecond), cruster.Timeout(30*time.Second))

func cancel(ctx *cruster.ActivityContext, orderID string) (bool, error) {
	if err := pay(ctx, "/refunds", map[string]any{"order_id": orderID}); err != nil {
		return false, err
	}
	tx := ctx.Tx()
	for _, sql := range []string{
		`DELETE FROM reservations WHERE order_id = $1`,
		`UPDATE charges SET status = 'refunded' WHERE order_id = $1`,
		`UPDATE orders SET status = 'cancelled' WHERE order_id = $1`,
	} {
		if _, err := tx.Exec(sql, orderID); err != nil {
			return false, err
		}
	}
	return true, record(ctx, "cancel")
}

// record writes a row for a step that took effect. A step has as many rows as it was committed: one.
func record(ctx *cruster.ActivityContext, step string) error {
	_, err := ctx.Tx().Exec(`INSERT INTO order_effects (execution, step, attempt) VALUES ($1, $2, $3)`,
		ctx.ExecutionID(), step, ctx.Attempt())
	return err
}
