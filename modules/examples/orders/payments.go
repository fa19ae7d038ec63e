package main

import (
	"strings"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// pay calls the payment service: charges are posted to the configured payments_url, refunds to payments_url/refunds.
// Without a payments_url there is no service, and the table of charges is all there is.
//
// The idempotency key of the step lets the service recognise a repeated attempt.
func pay(ctx *cruster.ActivityContext, path string, request map[string]any) error {
	url, ok := ctx.Config("payments_url")
	if !ok || url == "" {
		return nil
	}
	answer, err := ctx.HTTP().PostJSON(strings.TrimSuffix(url, "/")+path, request,
		cruster.Header{Name: "Idempotency-Key", Value: ctx.IdempotencyKey()})
	if err != nil {
		return err
	}
	return answer.Err()
}
