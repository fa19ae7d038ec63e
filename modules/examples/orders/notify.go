package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Notification is the request of NotifyCustomer.
type Notification struct {
	OrderID string `json:"order_id"`
	Email   string `json:"email"`
	Message string `json:"message"`
}

// NotificationResult is the result of NotifyCustomer.
type NotificationResult struct {
	NotificationID string `json:"notification_id"`
}

// NotifyCustomer sends one message for an order, however often it is started.
var NotifyCustomer = cruster.NewWorkflow("NotifyCustomer", notifyCustomer,
	cruster.RawKey(func(n Notification) string { return "order-" + n.OrderID }))

func notifyCustomer(ctx cruster.Context, n Notification) (NotificationResult, error) {
	id := cruster.UUID(ctx)
	_, err := Send.Call(ctx, Message{ID: id, OrderID: n.OrderID, Email: n.Email, Body: n.Message})
	if err != nil {
		return NotificationResult{}, err
	}
	return NotificationResult{NotificationID: id}, nil
}

// Message is the input of Send.
type Message struct {
	ID      string `json:"id"`
	OrderID string `json:"order_id"`
	Email   string `json:"email"`
	Body    string `json:"body"`
}

// Send puts a message into the outbox.
var Send = cruster.NewActivity("send", send, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond))

func send(ctx *cruster.ActivityContext, m Message) (bool, error) {
	_, err := ctx.Tx().Exec(
		`INSERT INTO notifications (notification_id, order_id, email, body) VALUES ($1, $2, $3, $4)`,
		m.ID, m.OrderID, m.Email, m.Body,
	)
	if err != nil {
		return false, err
	}
	return true, record(ctx, "send")
}
