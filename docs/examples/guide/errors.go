package guide

import (
	"errors"
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Return and recognise errors.

type Missing struct {
	Cents int64 `json:"cents"`
}

var Pay = cruster.NewActivity("pay", pay, cruster.Retries(2))

func pay(ctx *cruster.ActivityContext, card string) (cruster.None, error) {
	return cruster.None{}, tryCard(card)
}

func tryCard(last4 string) error {
	switch last4 {
	case "0000":
		return cruster.Errorf("card_declined", "card %s was declined", last4)
	case "0001":
		err := errors.New("no such card")
		return cruster.NonRetryable(err)
	case "0002":
		return cruster.WithDetails(cruster.Errorf("insufficient_funds", "there is too little"), Missing{Cents: 5})
	}
	return nil
}

var PayByCard = cruster.NewWorkflow("PayByCard", payByCard)

func payByCard(ctx cruster.Context, card string) (string, error) {
	_, err := Pay.Call(ctx, card)
	switch cruster.ErrorType(err) {
	case "card_declined":
		return "declined", nil
	case "insufficient_funds":
		missing, ok := cruster.Details[Missing](err)
		return fmt.Sprint(missing.Cents, " are missing: ", ok), nil
	}
	var e *cruster.Error
	if errors.As(err, &e) {
		return fmt.Sprint(e.Code, " ", e.Type, " ", e.Message), err
	}
	return "paid", nil
}

// Clean up when an execution is interrupted.

type Result struct {
	Charge string `json:"charge"`
}

var Hold = cruster.NewWorkflow("Hold", hold)

func hold(ctx cruster.Context, o Order) (Result, error) {
	chargeID, err := Charge.Call(ctx, o)
	if err != nil {
		return Result{}, err
	}
	err = cruster.Sleep(ctx, 14*24*time.Hour)
	if errors.Is(err, cruster.ErrInterrupted) {
		if _, undo := Refund.Call(cruster.Shield(ctx), chargeID); undo != nil {
			return Result{}, undo
		}
		return Result{}, err
	}
	return Result{Charge: chargeID}, err
}
