// Command orders is an order workflow: reserve the items, charge the customer, wait out a cooling-off period, confirm,
// and notify through another workflow.
package main

import (
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// OrderRequest is the request of ProcessOrder.
type OrderRequest struct {
	OrderID string `json:"order_id"`
	Email   string `json:"email"`
	Items   []Item `json:"items"`
	// CoolingOffMS is how long the customer can still change their mind, in milliseconds. Defaults to two seconds.
	CoolingOffMS int64 `json:"cooling_off_ms,omitempty"`
	// FailCharges makes the first attempts to charge fail, to show retries.
	FailCharges int `json:"fail_charges,omitempty"`
}

// Item is one line of an order.
type Item struct {
	SKU        string `json:"sku"`
	Quantity   int64  `json:"quantity"`
	PriceCents int64  `json:"price_cents"`
}

// OrderResult is the result of ProcessOrder.
type OrderResult struct {
	OrderID        string `json:"order_id"`
	ChargeID       string `json:"charge_id"`
	TotalCents     int64  `json:"total_cents"`
	Status         string `json:"status"`
	NotificationID string `json:"notification_id"`
}

// ProcessOrder takes an order from its reservation to its confirmation. The order id is the idempotency key: if an
// order is sent twice, it runs once.
var ProcessOrder = cruster.NewWorkflow("ProcessOrder", processOrder,
	cruster.RawKey(func(r OrderRequest) string { return r.OrderID }))

func processOrder(ctx cruster.Context, req OrderRequest) (OrderResult, error) {
	total, err := totalOf(req)
	if err != nil {
		return OrderResult{}, err
	}
	order := Order{OrderID: req.OrderID, Email: req.Email, Items: req.Items, TotalCents: total}
	// From here on an interrupt waits for the step under way: only then are the steps to undo certain.
	if _, err := Reserve.Call(cruster.Shield(ctx), order); err != nil {
		return OrderResult{}, fmt.Errorf("reserve: %w", err)
	}
	charge, err := chargeAndConfirm(ctx, req, total)
	if err != nil {
		// Undo the steps. The shield lets that run also if a client interrupted the order.
		if _, undo := Cancel.Call(cruster.Shield(ctx), req.OrderID); undo != nil {
			return OrderResult{}, cruster.Errorf(
				"not_cancelled", "the order could not be cancelled: %v; it was to be, because of: %v%s",
				undo, err, reason(ctx),
			)
		}
		return OrderResult{}, err
	}
	note, err := NotifyCustomer.Client().Execute(ctx, Notification{
		OrderID: req.OrderID,
		Email:   req.Email,
		Message: fmt.Sprintf("Your order %s over %d.%02d is confirmed.", req.OrderID, total/100, total%100),
	})
	if err != nil {
		return OrderResult{}, fmt.Errorf("notify: %w", err)
	}
	return OrderResult{
		OrderID:        req.OrderID,
		ChargeID:       charge.ID,
		TotalCents:     total,
		Status:         "confirmed",
		NotificationID: note.NotificationID,
	}, nil
}

func chargeAndConfirm(ctx cruster.Context, req OrderRequest, total int64) (ChargeResult, error) {
	if cruster.Interrupted(ctx) {
		return ChargeResult{}, cruster.ErrInterrupted
	}
	// A charge under way could overtake the refund, hence the shield.
	charge, err := Charge.Call(cruster.Shield(ctx), ChargeRequest{
		OrderID: req.OrderID, AmountCents: total, FailFirst: req.FailCharges,
	})
	if err != nil {
		return charge, fmt.Errorf("charge: %w", err)
	}
	coolingOff := 2 * time.Second
	if req.CoolingOffMS > 0 {
		coolingOff = time.Duration(req.CoolingOffMS) * time.Millisecond
	}
	if err := cruster.Sleep(ctx, coolingOff); err != nil {
		return charge, fmt.Errorf("cooling off: %w", err)
	}
	if _, err := Confirm.Call(ctx, Confirmation{OrderID: req.OrderID, ChargeID: charge.ID}); err != nil {
		return charge, fmt.Errorf("confirm: %w", err)
	}
	return charge, nil
}

// reason is why the order was interrupted, if it was.
func reason(ctx cruster.Context) string {
	if !cruster.Interrupted(ctx) {
		return ""
	}
	return " (" + cruster.InterruptReason(ctx) + ")"
}

// totalOf adds up the prices of an order. An invalid order fails before the first step.
func totalOf(req OrderRequest) (int64, error) {
	if req.OrderID == "" || len(req.Items) == 0 {
		return 0, cruster.Errorf("invalid_order", "an order needs an id and at least one item")
	}
	var total int64
	for _, i := range req.Items {
		if i.SKU == "" || i.Quantity <= 0 || i.PriceCents < 0 {
			return 0, cruster.Errorf(
				"invalid_order", "%d of %q at %d cents is no item", i.Quantity, i.SKU, i.PriceCents,
			)
		}
		total += i.Quantity * i.PriceCents
	}
	return total, nil
}

func main() {}
